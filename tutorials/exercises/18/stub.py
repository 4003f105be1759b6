"""Exercise 18: compare two arrays to the last bit.

Two arrays are the same if they have the same type and shape, and the same bits in every element.
So 0 and -0 differ. But one NaN is as good as another: no rule of arithmetic says which bits a NaN
has. Give True or False.
"""


def same_bits(x, y):
    raise NotImplementedError("not written yet")
