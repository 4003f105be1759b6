# message: DIFFERENCES leaves 1 negate instructions where 0 would do
from optimizer.rewriting.pattern import add, c, negate, subtract, x, y
from optimizer.rewriting.rule import Rule

DIFFERENCES = [Rule(subtract(x, c), add(x, -c))]
