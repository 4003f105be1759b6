# message: leaves 2 reverse instructions where 1 would do
from optimizer.rewriting.pattern import p, q, reverse, x
from optimizer.rewriting.rule import rule


@rule(reverse(reverse(x, p), q))
def reverse_of_reverse(x, p, q):
    return x if set(p) == set(q) else None
