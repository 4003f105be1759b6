# message: leaves 2 transpose instructions where 1 would do
from optimizer.rewriting.pattern import p, q, transpose, x
from optimizer.rewriting.rule import rule


@rule(transpose(transpose(x, p), q))
def transpose_of_transpose(x, p, q):
    """Right, but it does not do what it could."""
    return x if tuple(p[i] for i in q) == tuple(range(len(p))) else None
