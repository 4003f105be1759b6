"""Comparisons of a choice, or of a count, with a constant: they say something of the choice itself.

A pred, a converted pred and a select between constants are one of two numbers. Comparing both with
the constant tells whether the comparison is the pred, its negation, or the same whatever the pred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from interpreter.arithmetic import COMPARISONS
from interpreter.numbers.widths import widened
from optimizer.number_guards import counts_exactly, is_usual, last_of
from optimizer.rewriting.guards import is_pred, is_splat, is_static, same_dims
from optimizer.rewriting.make import splat, value_of
from optimizer.rewriting.pattern import c, c1, c2, c3, compare, convert, iota, not_, p, q, select, x
from optimizer.rewriting.rule import rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.rewriting.make import Array


@rule(compare(x, c, p), where=is_pred(x) & is_splat(c), xla="HandleCompare: Eq(pred, true) => pred")
def comparison_of_pred(x: Instruction, c: Instruction, p: str) -> Instruction:
    """The pred, its negation, or one value whatever the pred."""
    return _of_two(x, np.asarray(True), np.asarray(False), c, p)


@rule(
    compare(convert(x), c, p, q),
    where=is_pred(x) & is_splat(c) & is_usual(q),
    xla="HandleCompare: Ne(convert(pred), 0) => pred",
)
def comparison_of_converted_pred(
    x: Instruction, c: Instruction, p: str, root: Instruction
) -> Instruction:
    """Compare 1 and 0, values of a converted pred: gives the pred, its opposite or a constant."""
    dtype = root.operands[0].shape.element_type.dtype
    return _of_two(x, np.asarray(1).astype(dtype), np.asarray(0).astype(dtype), c, p)


@rule(
    compare(select(x, c1, c2), c3, p, q),
    where=is_splat(c1) & is_splat(c2) & is_splat(c3) & is_usual(q) & same_dims(x, c1),
    xla="HandleCompare: Ne(select(pred, 1, 0), 0) => pred",
)
def comparison_of_selected(
    x: Instruction, c1: Instruction, c2: Instruction, c3: Instruction, p: str
) -> Instruction:
    """Comparisons of both constants are folded: the result is x, its opposite, or a constant."""
    return _of_two(x, _number(c1), _number(c2), c3, p)


def _number(c: Instruction) -> Array:
    """The number that a splat repeats."""
    return np.asarray(cast("Array", value_of(c)).flat[0])


def _of_two(x: Instruction, if_true: Array, if_false: Array, c: Instruction, p: str) -> Instruction:
    """The comparison of one of two numbers with a splat, by the pred that chooses."""
    number = widened(_number(c))
    on_true, on_false = (bool(COMPARISONS[p](widened(n), number)) for n in (if_true, if_false))
    if on_true == on_false:
        return splat(on_true, x.shape)
    return x if on_true else not_(x)


@rule(
    compare(iota().as_(x), c, p, q),
    where=is_splat(c) & is_static(x) & is_usual(q),
    xla="HandleCompare: a tautological comparison of an iota => true or false",
)
def comparison_of_iota(
    x: Instruction, c: Instruction, p: str, root: Instruction
) -> Instruction | None:
    """An iota counts from 0 to the dimension's size less 1; both ends may say it for all."""
    number = widened(_number(c))
    if not counts_exactly(x) or (p in ("EQ", "NE") and 0 <= number <= last_of(x)):
        return None
    first, last = (bool(COMPARISONS[p](end, number)) for end in (0, last_of(x)))
    return splat(first, root.shape) if first == last else None


RULES = (
    comparison_of_pred,
    comparison_of_converted_pred,
    comparison_of_selected,
    comparison_of_iota,
)
