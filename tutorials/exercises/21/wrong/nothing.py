# message: reverse_of_reverse: the value changes
from optimizer.rewriting.pattern import p, q, reverse, x
from optimizer.rewriting.rule import rule


@rule(reverse(reverse(x, p), q))
def reverse_of_reverse(x, p, q):
    return x
