"""Rules whose left side is a logical operation or a select."""

from __future__ import annotations

from optimizer.guards import is_pred
from optimizer.pattern import and_, not_, or_, select, x, xor, y, z
from optimizer.rule import Rule

# fmt: off
RULES = (
    Rule(and_(x, 1), x, where=is_pred(x), xla="A && True => A"),
    Rule(and_(x, 0), 0, xla="A && False => False"),
    Rule(and_(x, x), x),
    Rule(or_(x, 0), x, xla="A || False => A"),
    Rule(or_(x, 1), 1, where=is_pred(x), xla="A || True => True"),
    Rule(or_(x, x), x),
    Rule(xor(x, 0), x),
    Rule(xor(x, x), 0),
    Rule(not_(not_(x)), x, xla="Not(Not(A)) => A"),
    Rule(select(x, y, y), y, xla="select(x, y, y) => y"),
    Rule(select(1, y, z), y, xla="select(true, x, y) => x"),
    Rule(select(0, y, z), z, xla="select(false, x, y) => y"),
    Rule(select(not_(x), y, z), select(x, z, y),
         xla="select(not(pred), a, b) => select(pred, b, a)"),
)
# fmt: on
