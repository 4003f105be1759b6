"""Rules whose left side is a division."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, cast

from interpreter.compare import FINITE, ROUNDING
from optimizer.guards import (
    is_complex,
    is_floating,
    is_power_of_two,
    is_splat,
    is_unsigned,
    reciprocal_is_exact,
)
from optimizer.make import value_of
from optimizer.pattern import (
    c,
    divide,
    exponential,
    multiply,
    negate,
    rsqrt,
    shift_right_logical,
    sqrt,
    subtract,
    x,
    y,
    z,
)
from optimizer.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.make import Array


@rule(
    divide(x, c),
    where=is_unsigned(x) & is_splat(c) & is_power_of_two(c),
    xla="A / 2^k => A >> k, unsigned",
)
def unsigned_division_by_power_of_two(x: Instruction, c: Instruction) -> Instruction:
    """Shift right by as many bits as the divisor has zeros.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleDivide`.
    """
    divisor = int(cast("Array", value_of(c)).flat[0])
    return shift_right_logical(x, int(log2(divisor)))


# fmt: off
RULES = (
    Rule(divide(x, 1), x, where=~is_complex(x), xla="A / 1 => A"),
    Rule(divide(x, 1), x, where=is_complex(x), promise=FINITE, xla="A / 1 => A",
         name="divide complex by 1"),
    unsigned_division_by_power_of_two,
    Rule(divide(x, c), multiply(x, 1 / c), where=reciprocal_is_exact(c),
         xla="A / Const => A * (1 / Const)", name="divide by a power of two"),
    Rule(divide(x, c), multiply(x, 1 / c), where=is_floating(x), promise=ROUNDING,
         xla="A / Const => A * (1 / Const)", witness={"x": 5.0, "c": 3.0}),
    Rule(divide(divide(x, y), z), divide(x, multiply(y, z)), where=is_floating(x),
         promise=ROUNDING, xla="(A / B) / C => A / (B * C)"),
    Rule(divide(x, divide(y, z)), divide(multiply(x, z), y), where=is_floating(x),
         promise=ROUNDING, xla="A / (B / C) => (A * C) / B"),
    Rule(divide(exponential(x), exponential(y)), exponential(subtract(x, y)), where=is_floating(x),
         promise=ROUNDING, xla="exp(A) / exp(B) => exp(A - B)"),
    Rule(divide(x, exponential(y)), multiply(x, exponential(negate(y))), where=is_floating(x),
         promise=ROUNDING, xla="A / exp(B) => A * exp(-B)"),
    Rule(divide(x, sqrt(y)), multiply(x, rsqrt(y)), where=is_floating(x), promise=ROUNDING,
         xla="A / sqrt(B) => A * rsqrt(B)", witness={"x": 5.0, "y": 3.0}),
)
# fmt: on
