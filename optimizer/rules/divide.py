"""Rules whose left side is a division."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, cast

from hlo.types.limits import integer_range
from interpreter.numbers.compare import FINITE, LOSSY, MAGNITUDE, ROUNDING
from optimizer.number_guards import has_nan, has_negatives
from optimizer.rewriting.guards import (
    is_complex,
    is_constant,
    is_floating,
    is_integer,
    is_power_of_two,
    is_signed,
    is_splat,
    is_unsigned,
    is_wide_float,
    one_use,
    reciprocal_is_exact,
    reciprocal_is_normal,
)
from optimizer.rewriting.make import splat, value_of
from optimizer.rewriting.pattern import (
    a,
    abs_,
    b,
    broadcast,
    c,
    c1,
    c2,
    compare,
    divide,
    exponential,
    multiply,
    negate,
    p,
    power,
    rsqrt,
    select,
    shift_right_logical,
    sqrt,
    subtract,
    x,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.rewriting.make import Array


@rule(
    divide(x, c),
    where=is_unsigned(x) & is_splat(c) & is_power_of_two(c),
    xla="HandleDivide: A / 2^k => A >> k, unsigned",
)
def unsigned_division_by_power_of_two(x: Instruction, c: Instruction) -> Instruction:
    """Shift right by as many bits as the divisor has zeros."""
    divisor = int(cast("Array", value_of(c)).flat[0])
    return shift_right_logical(x, int(log2(divisor)))


@rule(
    divide(x, c),
    where=is_signed(x) & is_splat(c) & is_power_of_two(c),
    xla="HandleDivide: A / 2^k => A < 0 ? -(-A >> k) : A >> k",
)
def signed_division_by_power_of_two(x: Instruction, c: Instruction) -> Instruction:
    """Shift the absolute value, since a division rounds towards zero, and give it back the sign."""
    divisor = int(cast("Array", value_of(c)).flat[0])
    quotient = shift_right_logical(abs_(x), int(log2(divisor)))
    return select(compare(x, 0, "LT"), negate(quotient), quotient)


@rule(
    divide(divide(x, c1), c2),
    where=is_integer(x) & is_splat(c1) & is_splat(c2),
    xla="LLVM, InstCombine",
)
def integer_division_twice(x: Instruction, c1: Instruction, c2: Instruction) -> Instruction | None:
    """Divide by the product, if that is a positive number of the type."""
    one, other = (int(cast("Array", value_of(c)).flat[0]) for c in (c1, c2))
    _, largest = integer_range(x.shape.element_type)
    fits = one > 0 and other > 0 and one * other <= largest
    return divide(x, splat(one * other, x.shape)) if fits else None


@rule(
    divide(x, broadcast(y, p).as_(a)),
    where=is_wide_float(x) & ~is_constant(a),
    promise=ROUNDING,
    xla="HandleDivide: A / broadcast(B) => A * broadcast(1 / B)",
)
def division_by_broadcast(
    x: Instruction, y: Instruction, a: Instruction, p: tuple[int, ...]
) -> Instruction | None:
    """Divide once for each number that is repeated."""
    if y.shape.size >= a.shape.size or a.shape.is_dynamic:
        return None
    return multiply(x, broadcast(divide(splat(1, y.shape), y), p, shape=a.shape))


# fmt: off
RULES = (
    Rule(divide(x, 1), x, where=~is_complex(x), xla="A / 1 => A"),
    Rule(divide(x, 1), x, where=is_complex(x), promise=FINITE, xla="A / 1 => A",
         name="divide complex by 1"),
    unsigned_division_by_power_of_two,
    signed_division_by_power_of_two,
    integer_division_twice,
    Rule(divide(x, -1), negate(x), where=~is_complex(x)),
    # For integers -INT_MIN is INT_MIN, whose quotients are negative.
    Rule(divide(negate(x), negate(y)), divide(x, y), where=is_floating(x) & has_negatives(x)),
    Rule(divide(negate(x), c), divide(x, -c), where=is_floating(x) & has_negatives(x)),
    # Where there is no NaN, 0 / 0 is -0.
    Rule(divide(abs_(x).as_(a), abs_(y).as_(b)), abs_(divide(x, y)),
         where=is_floating(x) & is_floating(y) & has_nan(x) & one_use(a) & one_use(b)),
    # XLA's CPU code makes these of all divisors, and then 1e38 / 2e38 is 0: 1 / 2e38 is flushed.
    Rule(divide(x, c), multiply(x, 1 / c), where=reciprocal_is_exact(c) & reciprocal_is_normal(c),
         xla="A / Const => A * (1 / Const)", name="divide by a power of two"),
    Rule(divide(x, c), multiply(x, 1 / c), where=reciprocal_is_normal(c), promise=ROUNDING,
         xla="A / Const => A * (1 / Const)", witness={"x": 5.0, "c": 3.0}),
    # XLA makes the following of all floats. Intermediate results that become too small, or small
    # enough to lose digits, are not the same on both sides; floats of 8 bits keep nothing.
    Rule(divide(divide(x, y), divide(z, a)), divide(multiply(x, a), multiply(y, z)),
         where=is_wide_float(x), promise=MAGNITUDE, xla="(A / B) / (C / D) => (A * D) / (B * C)",
         witness={"x": 1e-45, "y": 1.9, "z": 1e-20, "a": 1.0}),
    Rule(divide(divide(x, y), z), divide(x, multiply(y, z)), where=is_wide_float(x),
         promise=MAGNITUDE, xla="(A / B) / C => A / (B * C)",
         witness={"x": 1e-45, "y": 1.9, "z": 1e-20}),
    Rule(divide(x, divide(y, z)), divide(multiply(x, z), y), where=is_wide_float(x),
         promise=MAGNITUDE, xla="A / (B / C) => (A * C) / B",
         witness={"x": 1e-30, "y": 1e-45, "z": 1.9}),
    Rule(divide(exponential(x), exponential(y)), exponential(subtract(x, y)),
         where=is_wide_float(x), promise=MAGNITUDE, xla="exp(A) / exp(B) => exp(A - B)",
         witness={"x": -103.9, "y": -60.0}),
    Rule(divide(x, exponential(y)), multiply(x, exponential(negate(y))), where=is_wide_float(x),
         promise=LOSSY, xla="A / exp(B) => A * exp(-B)", witness={"x": 1e30, "y": 90.0}),
    Rule(divide(x, sqrt(y)), multiply(x, rsqrt(y)), where=is_floating(x), promise=ROUNDING,
         xla="A / sqrt(B) => A * rsqrt(B)", witness={"x": 5.0, "y": 3.0}),
    Rule(divide(x, rsqrt(y)), multiply(x, sqrt(y)), where=is_floating(x), promise=ROUNDING,
         xla="A / rsqrt(B) => A * sqrt(B)"),
    Rule(divide(x, power(y, z)), multiply(x, power(y, negate(z))), where=is_wide_float(x),
         promise=LOSSY, xla="A / pow(B, C) => A * pow(B, -C)",
         witness={"x": 1e30, "y": 10.0, "z": 39.0}),
    division_by_broadcast,
)
# fmt: on
