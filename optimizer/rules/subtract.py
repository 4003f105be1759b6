"""Rules whose left side is a subtraction.

x - 0 is x for every x: even -0 - 0 is -0. But -0 - -0 is +0. And x - x is NaN for infinities, so
what cancels may go for integers only.
"""

from __future__ import annotations

from interpreter.compare import ZERO_SIGN
from optimizer.guards import is_integer
from optimizer.pattern import add, c, negate, subtract, x, y
from optimizer.rule import Rule

# fmt: off
RULES = (
    Rule(subtract(x, 0.0), x, xla="A - 0 => A"),
    Rule(subtract(x, 0), x, promise=ZERO_SIGN, xla="A - 0 => A", witness={"x": -0.0}),
    Rule(subtract(x, c), add(x, -c), xla="A - Const => A + (-Const)"),
    Rule(subtract(x, negate(y)), add(x, y)),
    Rule(subtract(x, x), 0, where=is_integer(x), xla="A - A => 0"),
    Rule(subtract(add(x, y), x), y, where=is_integer(x), xla="(A + B) - A => B"),
    Rule(subtract(x, subtract(x, y)), y, where=is_integer(x), xla="A - (A - B) => B"),
)
# fmt: on
