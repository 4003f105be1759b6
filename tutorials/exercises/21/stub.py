"""Exercise 21: merge two reverses.

`reverse(x, p)` flips the dimensions in p. What do two of them flip, one after the other? Give x
itself where that is nothing.
"""

from optimizer.rewriting.pattern import p, q, reverse, x
from optimizer.rewriting.rule import rule


@rule(reverse(reverse(x, p), q))
def reverse_of_reverse(x, p, q):
    raise NotImplementedError("not written yet")
