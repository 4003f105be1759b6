"""Exercise 65: turn a slice around.

A slice takes the elements start, start + stride, ... below limit from an array of `size` elements,
at least one. Backwards, each must return to its place, among zeros. `pad` does that: it puts `low`
zeros before the elements, `high` after them, and `interior` between each two. Give
(low, high, interior).
"""


def surrounding(size, start, limit, stride):
    raise NotImplementedError("not written yet")
