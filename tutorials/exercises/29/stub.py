"""Exercise 29: count the iterations of a loop.

A loop has an s8 counter, which begins at `init` and grows by `step` in each iteration. It goes on
while `counter direction limit` holds; `direction` is LT, LE, GT, GE, NE or EQ. Give how often it
runs; None where it never ends, or where the counter would leave -128 to 127, in the last iteration
too: trips(126, 2, "EQ", 126) is None.
"""


def trips(init, step, direction, limit):
    raise NotImplementedError("not written yet")
