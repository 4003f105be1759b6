"""Exercise 23: make two rules come to an end.

The first rule turns a difference into a sum, so that rules about sums see it. The second turns a
sum with a negated number back into a difference, which is one instruction less. Together they never
end. Change one of them so that they do, and both are still of use: x - 3 shall become x + -3, and
x + -y shall become x - y.

In a pattern, `c` stands for a constant only, and `-c` on the right side is folded.
"""

from optimizer.rewriting.pattern import add, c, negate, subtract, x, y
from optimizer.rewriting.rule import Rule

BEFORE = [
    Rule(subtract(x, y), add(x, negate(y))),
    Rule(add(x, negate(y)), subtract(x, y)),
]

DIFFERENCES = None  # not written yet
