"""Exercise 12: divide integers.

`x` and `y` are NumPy arrays of s32. The quotient is rounded towards zero. x / 0 is -1, all bits
set. The smallest number divided by -1 is itself: it wraps around.
"""


def divide(x, y):
    raise NotImplementedError("not written yet")
