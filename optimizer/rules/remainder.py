"""Rules whose left side is a remainder, which has the sign of the dividend; x % 0 is x."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from optimizer.number_guards import counts_exactly, has_negatives, last_of
from optimizer.rewriting.guards import (
    is_floating,
    is_integer,
    is_power_of_two,
    is_signed,
    is_splat,
    is_static,
    is_unsigned,
)
from optimizer.rewriting.make import fold, splat, value_of
from optimizer.rewriting.pattern import (
    a,
    abs_,
    and_,
    c,
    compare,
    iota,
    negate,
    remainder,
    select,
    x,
    y,
)
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.rewriting.make import Array


@rule(
    remainder(x, c),
    where=is_power_of_two(c) & is_signed(x),
    xla="HandleRemainder: A % 2^k => A < 0 ? -(-A & (2^k - 1)) : A & (2^k - 1)",
)
def signed_remainder_by_power_of_two(x: Instruction, c: Instruction) -> Instruction:
    """The low bits of the absolute value, with the sign of the dividend."""
    low_bits = and_(abs_(x), fold("add", c.shape, c, splat(-1, c.shape)))
    return select(compare(x, 0, "LT"), negate(low_bits), low_bits)


@rule(
    remainder(iota().as_(x), c),
    where=is_integer(x) & is_splat(c) & is_static(x),
    xla="HandleRemainder: iota % N => iota, if it stays below N",
)
def remainder_of_iota(x: Instruction, c: Instruction) -> Instruction | None:
    """Numbers below the divisor are their own remainders."""
    divisor = int(cast("Array", value_of(c)).flat[0])
    return x if counts_exactly(x) and last_of(x) < divisor else None


# fmt: off
RULES = (
    Rule(remainder(x, 1), 0, where=is_integer(x), xla="A % 1 => 0"),
    Rule(remainder(x, -1), 0, where=is_signed(x)),
    Rule(remainder(x, x), 0, where=is_integer(x)),
    Rule(remainder(remainder(x, y).as_(a), y), a, xla="(A % B) % B => A % B"),
    Rule(remainder(x, negate(y)), remainder(x, y),
         where=(is_floating(x) | is_signed(x)) & has_negatives(x)),
    Rule(remainder(x, abs_(y)), remainder(x, y), where=is_floating(y) | is_signed(y)),
    remainder_of_iota,
    Rule(remainder(x, c), and_(x, c + -1), where=is_power_of_two(c) & is_unsigned(x),
         xla="A % 2^k => A & (2^k - 1), unsigned", name="unsigned remainder by a power of two"),
    signed_remainder_by_power_of_two,
)
# fmt: on
