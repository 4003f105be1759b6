# message: transpose_of_transpose
from optimizer.rewriting.pattern import p, q, transpose, x
from optimizer.rewriting.rule import rule


@rule(transpose(transpose(x, p), q))
def transpose_of_transpose(x, p, q):
    """Only two that undo each other may both go."""
    return x
