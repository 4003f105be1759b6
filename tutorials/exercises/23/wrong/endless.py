# message: DIFFERENCES
from optimizer.rewriting.pattern import add, c, negate, subtract, x, y
from optimizer.rewriting.rule import Rule

DIFFERENCES = [
    Rule(subtract(x, y), add(x, negate(y))),
    Rule(add(x, negate(y)), subtract(x, y)),
]
