# message: DIFFERENCES
from optimizer.rewriting.pattern import add, c, negate, subtract, x, y
from optimizer.rewriting.rule import Rule

DIFFERENCES = [
    Rule(subtract(x, c), add(x, c)),
    Rule(add(x, negate(y)), subtract(x, y)),
]
