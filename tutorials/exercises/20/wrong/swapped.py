# message: transpose_of_transpose: the value changes
from optimizer.rewriting.pattern import p, q, transpose, x
from optimizer.rewriting.rule import rule


@rule(transpose(transpose(x, p), q))
def transpose_of_transpose(x, p, q):
    return transpose(x, tuple(q[i] for i in p))
