"""Exercise 31: join two facts.

A fact about a value is UNSEEN, VARIES, or a scalar of NumPy: the number that it has in all runs.
`join(first, second)` is the fact about a value that is described by either of the two.

A number is the same only if its type and all its bits are: a program can tell 0.0 from -0.0.
"""

UNSEEN, VARIES = "unseen", "varies"


def join(first, second):
    raise NotImplementedError("not written yet")
