"""Exercise 52: groups of equal things.

Things have the numbers 0 to `count - 1`, and `equal` is a list of pairs of numbers of things that
are equal. `groups(count, equal)` gives, for each thing, the least number of those that it is equal
to; itself counts.

    groups(5, [(0, 3), (3, 4)])    [0, 1, 2, 0, 0]
"""


def groups(count, equal):
    raise NotImplementedError("not written yet")
