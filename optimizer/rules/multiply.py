"""Rules whose left side is a multiplication.

0 * x is 0 for integers only: it is NaN for infinities and NaN, and -0 for negative numbers.
"""

from __future__ import annotations

from interpreter.numbers.compare import FINITE, MAGNITUDE
from optimizer.number_guards import has_negatives
from optimizer.rewriting.guards import (
    is_complex,
    is_constant,
    is_floating,
    is_integer,
    is_pred,
    is_wide_float,
    one_use,
)
from optimizer.rewriting.pattern import (
    a,
    abs_,
    add,
    b,
    c,
    c1,
    c2,
    convert,
    exponential,
    multiply,
    negate,
    select,
    sign,
    x,
    y,
)
from optimizer.rewriting.rule import Rule

# fmt: off
RULES = (
    Rule(multiply(x, 1), x, where=~is_complex(x), xla="A * 1 => A"),
    # (a + bi) * (1 + 0i) is a * 1 - b * 0 + ..., so infinities and signs of zeros are lost.
    Rule(multiply(x, 1), x, where=is_complex(x), promise=FINITE, xla="A * 1 => A",
         name="multiply complex by 1"),
    Rule(multiply(x, 0), 0, where=is_integer(x) | is_pred(x), xla="A * 0 => 0"),
    Rule(multiply(x, x), x, where=is_pred(x)),
    Rule(multiply(x, -1), negate(x), where=~is_complex(x) & ~is_pred(x)),
    Rule(multiply(c, x).in_order(), multiply(x, c), where=~is_constant(x),
         xla="Const * A => A * Const"),
    # 0 * x is not 0 for infinities, NaN and negative numbers.
    Rule(multiply(convert(x), y), select(x, y, 0), where=is_pred(x), promise=FINITE,
         xla="convert(pred) * A => select(pred, A, 0)"),
    Rule(multiply(negate(x), negate(y)), multiply(x, y), where=has_negatives(x),
         xla="(-A) * (-B) => A * B"),
    Rule(multiply(negate(x), c), multiply(x, -c), where=has_negatives(x)),
    Rule(multiply(abs_(x), abs_(x)), multiply(x, x), where=is_floating(x) | is_integer(x),
         xla="|A| * |A| => A * A"),
    Rule(multiply(abs_(x).as_(a), abs_(y).as_(b)), abs_(multiply(x, y)),
         where=is_floating(x) & is_floating(y) & one_use(a) & one_use(b)),
    Rule(multiply(sign(x), abs_(x)), x, where=~is_complex(x)),
    Rule(multiply(multiply(x, c1), c2), multiply(x, c1 * c2),
         where=is_wide_float(x) | ~is_floating(x), promise=MAGNITUDE,
         xla="(A * C1) * C2 => A * (C1 * C2)", witness={"x": 1e-45, "c1": 0.6, "c2": 1e20}),
    Rule(multiply(multiply(x, c1).as_(a), multiply(y, c2).as_(b)),
         multiply(multiply(x, y), c1 * c2),
         where=is_integer(x) & one_use(a) & one_use(b),
         xla="(A * C1) * (B * C2) => A * B * (C1 * C2)"),
    # XLA does so for all floats.
    Rule(multiply(exponential(x), exponential(y)), exponential(add(x, y)),
         where=is_wide_float(x), promise=MAGNITUDE, xla="exp(A) * exp(B) => exp(A + B)",
         witness={"x": -103.9, "y": 60.0}),
)
# fmt: on
