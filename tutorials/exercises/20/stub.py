"""Exercise 20: merge two transposes.

Dimension i of `transpose(x, p)` is dimension p[i] of x. So which dimension of x is dimension i of
`transpose(transpose(x, p), q)`? In the function, p and q are tuples of numbers, and
`transpose(x, dimensions)` makes the new instruction.
"""

from optimizer.rewriting.pattern import p, q, transpose, x
from optimizer.rewriting.rule import rule


@rule(transpose(transpose(x, p), q))
def transpose_of_transpose(x, p, q):
    raise NotImplementedError("not written yet")
