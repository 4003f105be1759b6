"""Rules whose left side is a power. Anything to the power of 0 is 1, and so is any power of 1."""

from __future__ import annotations

from interpreter.numbers.compare import ROUNDING
from optimizer.known import is_even
from optimizer.rewriting.guards import is_complex, is_floating
from optimizer.rewriting.pattern import (
    abs_,
    c,
    divide,
    exponential,
    multiply,
    negate,
    power,
    x,
    y,
)
from optimizer.rewriting.rule import Rule

# fmt: off
RULES = (
    Rule(power(x, 0), 1, where=~is_complex(x), xla="pow(A, 0) => 1"),
    Rule(power(x, 1), x, where=~is_complex(x), xla="pow(A, 1) => A"),
    Rule(power(1, x), 1, where=~is_complex(x)),
    Rule(power(x, 2), multiply(x, x), where=~is_complex(x), promise=ROUNDING,
         xla="pow(A, 2) => A * A"),
    Rule(power(x, 3), multiply(multiply(x, x), x), where=~is_complex(x), promise=ROUNDING,
         xla="pow(A, 3) => A * A * A", witness={"x": 1.5847931}),
    Rule(power(x, -1), divide(1, x), where=is_floating(x), promise=ROUNDING,
         xla="pow(A, -1) => 1 / A"),
    Rule(power(exponential(x), y), exponential(multiply(x, y)), where=is_floating(x),
         promise=ROUNDING, xla="pow(exp(A), B) => exp(A * B)", witness={"x": 2e-8, "y": 50.0}),
    Rule(power(negate(x), c), power(x, c), where=is_even(c)),
    Rule(power(abs_(x), c), power(x, c), where=is_even(c)),
)
# fmt: on
