"""Rules whose left side is an addition.

The trap of this family is the sign of zero: -0 + 0 is +0. So only adding -0 changes nothing, and
XLA's `A + 0 => A` turns +0, the right result for -0 + 0, into -0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpreter.numbers.compare import ROUNDING, ZERO_SIGN
from optimizer.number_guards import has_negatives, is_power_of_two_float
from optimizer.reducers import folds_with, is_neutral_but_for_zeros
from optimizer.rewriting.guards import is_constant, is_floating, is_integer, is_pred, one_use
from optimizer.rewriting.pattern import (
    a,
    add,
    and_,
    b,
    c,
    c1,
    c2,
    f,
    multiply,
    negate,
    not_,
    or_,
    scatter,
    subtract,
    x,
    xor,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule(
    add(x, scatter(c, y, z, to_apply=f).as_(b)),
    where=one_use(b) & is_neutral_but_for_zeros(c, f) & folds_with("add", f, x),
    promise=ROUNDING,
    xla="HandleAdd: A + scatter(0, indices, updates) => scatter(A, indices, updates)",
)
def sum_with_scattered(
    x: Instruction, y: Instruction, z: Instruction, b: Instruction
) -> Instruction:
    """A scatter into zeros that is added scatters into the other summand instead."""
    return b.with_(operands=(x, y, z))


# fmt: off
RULES = (
    sum_with_scattered,
    Rule(add(x, -0.0), x, xla="A + 0 => A"),
    Rule(add(x, 0), x, promise=ZERO_SIGN, xla="A + 0 => A", witness={"x": -0.0}),
    # Of preds the sum is the disjunction.
    Rule(add(x, x), x, where=is_pred(x)),
    Rule(add(x, 1), 1, where=is_pred(x)),
    Rule(add(c, x).in_order(), add(x, c), where=~is_constant(x), xla="Const + A => A + Const"),
    Rule(add(x, negate(y)), subtract(x, y), where=has_negatives(x)),
    Rule(add(x, subtract(y, x)), y, where=is_integer(x), xla="A + (B - A) => B"),
    Rule(add(subtract(x, y), subtract(y, z)), subtract(x, z), where=is_integer(x)),
    Rule(add(x, not_(x)), -1, where=is_integer(x)),
    Rule(add(not_(x), c), subtract(c - 1, x), where=is_integer(x)),
    Rule(add(and_(x, y), or_(x, y)), add(x, y), where=is_integer(x)),
    Rule(add(and_(x, y), xor(x, y)), or_(x, y), where=is_integer(x)),
    Rule(add(add(x, c1), c2), add(x, c1 + c2), promise=ROUNDING, xla="(A + C1) + C2 => A + (C1+C2)",
         witness={"x": 1.0, "c1": 1e8, "c2": -1e8}),
    Rule(add(subtract(c1, x), c2), subtract(c1 + c2, x), promise=ROUNDING,
         xla="(C1 - A) + C2 => (C1 + C2) - A", witness={"x": 1.0, "c1": 1e8, "c2": -1e8}),
    Rule(add(add(x, c1).as_(a), add(y, c2).as_(b)), add(add(x, y), c1 + c2),
         where=is_integer(x) & one_use(a) & one_use(b),
         xla="(A + C1) + (B + C2) => A + B + (C1 + C2)"),
    Rule(add(multiply(x, z).as_(a), multiply(y, z).as_(b)), multiply(add(x, y), z),
         where=is_integer(x) & one_use(a) & one_use(b), xla="A * C + B * C => (A + B) * C"),
    # Multiplying by 2^k does not round, unless the product is too small for a normal number.
    Rule(add(multiply(x, c).as_(a), multiply(y, c).as_(b)), multiply(add(x, y), c),
         where=is_floating(x) & is_power_of_two_float(c) & one_use(a) & one_use(b),
         promise=ROUNDING, xla="A * C + B * C => (A + B) * C, C = 2^k",
         name="factor out a power of two", witness={"x": 1.5, "y": 1.5, "c": 1e-45}),
    Rule(add(x, multiply(x, c)), multiply(x, c + 1), where=is_integer(x)),
)
# fmt: on
