"""Rules whose left side is a power. Anything to the power of 0 is 1, and so is any power of 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interpreter.numbers.compare import LOSSY, ROUNDING
from interpreter.numbers.widths import float_format
from optimizer.number_guards import is_even
from optimizer.rewriting.guards import guard, is_complex, is_floating, is_wide_float
from optimizer.rewriting.make import value_of
from optimizer.rewriting.pattern import (
    abs_,
    c,
    divide,
    exponential,
    multiply,
    negate,
    power,
    x,
)
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@guard
def magnifies_little(c: Instruction) -> bool:
    """Exponents by which a last place becomes at most an eighth.

    Where a number is rounded before its power is taken, the power has that error so many times. XLA
    takes any exponent; of those that only the run knows nothing could be promised.
    """
    value = value_of(c)
    if value is None:
        return False
    largest = 2 ** float_format(value.dtype).mantissa_bits / 8
    return bool((np.abs(value.astype(np.float64)) <= largest).all())


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
    Rule(power(exponential(x), c), exponential(multiply(x, c)),
         where=is_wide_float(c) & magnifies_little(c), promise=LOSSY,
         xla="pow(exp(A), B) => exp(A * B)", witness={"x": 2e-8, "c": 50000.0}),
    Rule(power(negate(x), c), power(x, c), where=is_even(c)),
    Rule(power(abs_(x), c), power(x, c), where=is_even(c)),
)
# fmt: on
