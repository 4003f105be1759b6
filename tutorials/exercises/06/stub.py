"""Exercise 6: say for which c a division x / c may become a multiplication x * (1 / c).

`c` is a NumPy f32. The two give the same to the last bit, for every x, if c is a power of two, and
1 / c is a number of the same type that is no zero and no infinity. Give True or False.
"""


def reciprocal_is_exact(c):
    raise NotImplementedError("not written yet")
