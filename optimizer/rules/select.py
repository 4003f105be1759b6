"""Rules whose left side is a select.

The predicate may be a scalar where the arms are arrays; what takes the predicate's place among
arrays needs it as large as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.number_guards import is_nonzero_number
from optimizer.rewriting.guards import is_integer, is_pred, is_signed, same_dims
from optimizer.rewriting.pattern import (
    a,
    abs_,
    and_,
    c,
    compare,
    convert,
    maximum,
    minimum,
    negate,
    not_,
    or_,
    p,
    select,
    x,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


# The one of two numbers that is chosen where a comparison holds of them.
CHOICES = {"GT": maximum, "GE": maximum, "LT": minimum, "LE": minimum}
SWAPPED = {"GT": "LT", "GE": "LE", "LT": "GT", "LE": "GE"}


def chosen(x: Instruction, y: Instruction, direction: str, root: Instruction) -> Instruction | None:
    """The larger or the smaller of two integers; None if one pred chooses for all."""
    choice = CHOICES.get(direction)
    alike = root.operands[0].shape.dims == root.shape.dims
    return choice(x, y) if choice and alike else None


@rule(
    select(compare(x, y, p), x, y),
    where=is_integer(x),
    xla="LLVM, InstCombine; XLA leaves it to LLVM",
)
def select_of_greater_is_maximum(
    x: Instruction, y: Instruction, p: str, root: Instruction
) -> Instruction | None:
    """The larger of two integers, or the smaller; of floats NaN and -0 would differ."""
    return chosen(x, y, p, root)


@rule(
    select(compare(x, y, p), y, x),
    where=is_integer(x),
    xla="LLVM, InstCombine; XLA leaves it to LLVM",
)
def select_of_smaller_is_minimum(
    x: Instruction, y: Instruction, p: str, root: Instruction
) -> Instruction | None:
    """The smaller of two integers, or the larger; of floats NaN and -0 would differ."""
    return chosen(x, y, SWAPPED.get(p, p), root)


# fmt: off
RULES = (
    Rule(select(x, y, y), y, xla="select(x, y, y) => y"),
    Rule(select(1, y, z), y, xla="select(true, x, y) => x"),
    Rule(select(0, y, z), z, xla="select(false, x, y) => y"),
    Rule(select(not_(x), y, z), select(x, z, y),
         xla="select(not(pred), a, b) => select(pred, b, a)"),
    Rule(select(x, 1, 0).as_(a), x, where=is_pred(a) & same_dims(a, x),
         xla="select(pred, true, false) => pred"),
    Rule(select(x, 0, 1).as_(a), not_(x), where=is_pred(a) & same_dims(a, x),
         xla="select(pred, false, true) => not(pred)"),
    Rule(select(x, 1, y), or_(x, y), where=is_pred(y) & same_dims(x, y),
         xla="select(pred, true, A) => pred || A"),
    Rule(select(x, y, 0), and_(x, y), where=is_pred(y) & same_dims(x, y),
         xla="select(pred, A, false) => pred && A"),
    Rule(select(x, x, y), or_(x, y)),
    Rule(select(x, y, x), and_(x, y)),
    # A product with floats that are converted becomes a select, which is 0 where 0 * y is NaN.
    Rule(select(x, 1, 0).as_(a), convert(x), where=same_dims(a, x) & is_integer(a),
         name="select of 1 and 0 => convert"),
    Rule(select(x, select(x, y, z), a), select(x, y, a)),
    Rule(select(x, y, select(x, z, a)), select(x, y, a)),
    # abs(INT_MIN) is INT_MIN, as its opposite is. For floats -0 is not below 0, and stays.
    Rule(select(compare(x, 0, "LT"), negate(x), x), abs_(x), where=is_signed(x)),
    Rule(select(compare(x, 0, "GE"), x, negate(x)), abs_(x), where=is_signed(x)),
    # Equal floats may be -0 and +0; equal numbers other than 0 have the same bits.
    Rule(select(compare(x, y, "EQ"), x, y), y, where=is_integer(x) | is_pred(x)),
    Rule(select(compare(x, y, "EQ"), y, x), x, where=is_integer(x) | is_pred(x)),
    Rule(select(compare(x, y, "NE"), x, y), x, where=is_integer(x) | is_pred(x)),
    Rule(select(compare(x, y, "NE"), y, x), y, where=is_integer(x) | is_pred(x)),
    Rule(select(compare(x, c, "EQ"), c, x), x, where=is_nonzero_number(c)),
    Rule(select(compare(x, c, "NE"), x, c), x, where=is_nonzero_number(c)),
    select_of_greater_is_maximum,
    select_of_smaller_is_minimum,
)
# fmt: on
