"""The operation of a reduction, and its neutral initial values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlo.monoid import monoid_of
from optimizer.rewriting.guard import guard
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType


def operation_of(computation: Computation, instr: Instruction) -> str:
    """The opcode that folds an instruction's elements; "" if a computation does more than one."""
    monoid = monoid_of(computation)
    if monoid is None:
        return ""
    return monoid.of_preds if instr.shape.element_type.kind == "pred" else computation.root.opcode


def never_rounds(computation: Computation, instr: Instruction) -> bool:
    """Whether folding an instruction's elements gives the very same in any order."""
    monoid = monoid_of(computation)
    return monoid is not None and not monoid.rounds(instr.shape.element_type)


def leaves_alone(initial: Instruction, computation: Computation, *, zero_sign: bool) -> bool:
    """Whether folding an initial value with any other gives the other.

    Parameters
    ----------
    zero_sign : whether +0 counts too, although -0 + 0 is +0.
    """
    value, wanted = value_of(initial), identity_of(computation, initial.shape.element_type)
    if value is None or not value.size or wanted is None:
        return False
    if not (value == np.asarray(wanted).astype(value.dtype)).all():
        return False
    if initial.shape.element_type.is_complex:
        # The product of inf and 1 + 0i has a NaN, and the signs of a sum's zeros are two.
        return zero_sign and not wanted
    return zero_sign or bool((np.signbit(value) == np.signbit(wanted)).all())


def identity_of(computation: Computation, element_type: ElementType) -> complex | None:
    """The number that a computation leaves others alone with; None if it is not known."""
    monoid = monoid_of(computation)
    return None if monoid is None else monoid.identity(element_type)


@guard
def is_neutral(initial: Instruction, computation: Computation) -> bool:
    """Folding it with any value gives that very value."""
    return leaves_alone(initial, computation, zero_sign=False)


@guard
def is_neutral_but_for_zeros(initial: Instruction, computation: Computation) -> bool:
    """Folding it with any value gives that value; but a zero may lose its sign."""
    return leaves_alone(initial, computation, zero_sign=True)


@guard
def in_any_order(computation: Computation, x: Instruction) -> bool:
    """Folding in another order gives the very same: no rounding takes place."""
    return never_rounds(computation, x)


@guard
def is_known(computation: Computation, x: Instruction) -> bool:
    """The computation is one associative and commutative operation."""
    return bool(operation_of(computation, x))


@guard
def folds_with(opcode: str, computation: Computation, x: Instruction) -> bool:
    """The computation is this one operation."""
    return operation_of(computation, x) == opcode
