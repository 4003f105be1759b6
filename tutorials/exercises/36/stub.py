"""Exercise 36: find the first wrong rewrite.

`is_wrong(n)` runs a program after its first n rewrites, and says whether the result is wrong. Once
it is wrong, it stays wrong. Without a rewrite it is right.

`first_wrong(count, is_wrong)` gives the number of the first wrong rewrite, from 1 to count, or None
if all are right. A run takes long: about log2(count) of them must do.
"""


def first_wrong(count, is_wrong):
    raise NotImplementedError("not written yet")
