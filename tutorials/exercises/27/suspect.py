"""A pass of six rules, of which one is wrong. Which, can be seen; at which rewrite, can be found.

hlo bisect models/attention.hlo --passes exercises/27/suspect.py:Suspect
"""

from optimizer.rewriting.pattern import (
    add,
    c,
    divide,
    multiply,
    negate,
    p,
    q,
    subtract,
    transpose,
    x,
    y,
)
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import Rule, RuleSet, rule


@rule(transpose(transpose(x, p), q))
def transpose_of_transpose(x, p, q):
    return transpose(x, tuple(p[i] for i in q))


RULES = RuleSet(
    [
        transpose_of_transpose,
        Rule(negate(negate(x)), x, name="negate_of_negate"),
        Rule(multiply(x, 1), x, name="times_one"),
        Rule(divide(x, c), multiply(x, 1 / (c + c)), name="division_by_constant"),
        Rule(add(x, negate(y)), subtract(x, y), name="plus_minus"),
        Rule(add(x, -0.0), x, name="plus_zero"),
    ]
)


class Suspect:
    name = "suspect"

    def run(self, module, log):
        return rewrite(module, RULES, log)
