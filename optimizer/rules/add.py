"""Rules whose left side is an addition.

The trap of this family is the sign of zero: -0 + 0 is +0. So only adding -0 changes nothing, and
XLA's `A + 0 => A` turns +0, the right result for -0 + 0, into -0.
"""

from __future__ import annotations

from interpreter.compare import ROUNDING, ZERO_SIGN
from optimizer.guards import is_constant, is_integer
from optimizer.pattern import add, c, c1, c2, negate, subtract, x, y
from optimizer.rule import Rule

# fmt: off
RULES = (
    Rule(add(x, -0.0), x, xla="A + 0 => A"),
    Rule(add(x, 0), x, promise=ZERO_SIGN, xla="A + 0 => A", witness={"x": -0.0}),
    Rule(add(c, x).in_order(), add(x, c), where=~is_constant(x), xla="Const + A => A + Const"),
    Rule(add(x, negate(y)), subtract(x, y)),
    Rule(add(x, subtract(y, x)), y, where=is_integer(x), xla="A + (B - A) => B"),
    Rule(add(add(x, c1), c2), add(x, c1 + c2), promise=ROUNDING, xla="(A + C1) + C2 => A + (C1+C2)",
         witness={"x": 1.0, "c1": 1e8, "c2": -1e8}),
)
# fmt: on
