"""Exercise 41: find the worst moment.

Each block has a `size` in bytes and `spans`: a list of pairs (first, last) of moments, both
included, at which it is needed. Give the most bytes that are needed at any one moment.
"""


def peak(blocks):
    raise NotImplementedError("not written yet")
