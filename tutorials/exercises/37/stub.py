"""Exercise 37: leave out what is not needed.

`fails(items)` says whether a test fails on a list. It fails on all `items` together.

`smallest(items, fails)` gives some of the items, in their order: the test still fails on them, but
on no list with one item less. If only two items of a thousand are needed, 500 runs must do: try to
leave out large parts first.
"""


def smallest(items, fails):
    raise NotImplementedError("not written yet")
