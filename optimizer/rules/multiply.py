"""Rules whose left side is a multiplication.

0 * x is 0 for integers only: it is NaN for infinities and NaN, and -0 for negative numbers.
"""

from __future__ import annotations

from interpreter.compare import FINITE, ROUNDING
from optimizer.guards import is_complex, is_constant, is_floating, is_integer
from optimizer.pattern import abs_, add, c, c1, c2, exponential, multiply, negate, x, y
from optimizer.rule import Rule

# fmt: off
RULES = (
    Rule(multiply(x, 1), x, where=~is_complex(x), xla="A * 1 => A"),
    # (a + bi) * (1 + 0i) is a * 1 - b * 0 + ..., so infinities and signs of zeros are lost.
    Rule(multiply(x, 1), x, where=is_complex(x), promise=FINITE, xla="A * 1 => A",
         name="multiply complex by 1"),
    Rule(multiply(x, 0), 0, where=is_integer(x), xla="A * 0 => 0"),
    Rule(multiply(c, x).in_order(), multiply(x, c), where=~is_constant(x),
         xla="Const * A => A * Const"),
    Rule(multiply(negate(x), negate(y)), multiply(x, y), xla="(-A) * (-B) => A * B"),
    Rule(multiply(abs_(x), abs_(x)), multiply(x, x), where=is_floating(x) | is_integer(x),
         xla="|A| * |A| => A * A"),
    Rule(multiply(multiply(x, c1), c2), multiply(x, c1 * c2), promise=ROUNDING,
         xla="(A * C1) * C2 => A * (C1 * C2)"),
    Rule(multiply(exponential(x), exponential(y)), exponential(add(x, y)), promise=ROUNDING,
         where=is_floating(x),
         xla="exp(A) * exp(B) => exp(A + B)", witness={"x": 1.0, "y": 1.0}),
)
# fmt: on
