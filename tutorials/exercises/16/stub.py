"""Exercise 16: divide integers.

`x` and `y` are NumPy arrays of s32. The quotient is rounded towards zero. x / 0 is -1, all bits
set. The smallest number divided by -1 is itself: it wraps around. Do not convert a float that is no
s32, such as 2147483648.0: each kind of processor makes another number of it.
"""


def divide(x, y):
    raise NotImplementedError("not written yet")
