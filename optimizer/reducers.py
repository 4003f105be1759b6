"""What computation a reduction folds with, and which initial values it leaves out of account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from interpreter.operation import known_operation
from optimizer.rewriting.make import value_of
from optimizer.rewriting.rule import guard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.instruction import Computation, Instruction

    Array = NDArray[Any]

# Each value that takes part may do so any number of times.
IDEMPOTENT = frozenset({"and", "or", "maximum", "minimum"})
# Of truth values these are other names of and and or.
OF_PREDS = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}


def operation_of(computation: Computation, instr: Instruction) -> str:
    """The opcode that folds an instruction's elements; "" if a computation does more than one."""
    if known_operation(computation) is None:
        return ""
    opcode = computation.root.opcode
    return OF_PREDS.get(opcode, opcode) if instr.shape.element_type.kind == "pred" else opcode


def leaves_alone(initial: Instruction, computation: Computation, *, zero_sign: bool) -> bool:
    """Whether folding an initial value with any other gives the other.

    Parameters
    ----------
    zero_sign : whether +0 counts too, although -0 + 0 is +0.
    """
    value, kind = value_of(initial), initial.shape.element_type.kind
    if value is None or not value.size:
        return False
    opcode = operation_of(computation, initial)
    if opcode == "add" and kind in ("float", "complex"):
        return bool((value == 0).all()) and (zero_sign or _is_negative_zero(value))
    if opcode in ("add", "or", "xor"):
        return not value.any()
    if opcode == "and":
        return bool((~value == 0).all())
    if opcode == "multiply":
        return kind != "complex" and bool((value == 1).all())
    return bool(opcode) and _is_outermost(value, opcode, kind)


def _is_negative_zero(value: Array) -> bool:
    return value.dtype.kind != "c" and bool(np.signbit(value).all())


def _is_outermost(value: Array, opcode: str, kind: str) -> bool:
    """The lowest value for a maximum, the highest for a minimum."""
    sign = -1 if opcode == "maximum" else 1
    if kind == "float":
        return bool((value.astype(np.float64) == sign * np.inf).all())
    if kind == "complex":
        return False
    # NumPy's own iinfo knows no types of four bits.
    limits: Any = ml_dtypes.iinfo(value.dtype)
    return all(int(n) == (limits.min if sign < 0 else limits.max) for n in value.flat)


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
    opcode = operation_of(computation, x)
    rounds = x.shape.element_type.kind in ("float", "complex")
    return bool(opcode) and not (rounds and opcode in ("add", "multiply"))


@guard
def is_known(computation: Computation, x: Instruction) -> bool:
    """It is one associative and commutative operation."""
    return bool(operation_of(computation, x))


@guard
def folds_with(opcode: str, computation: Computation, x: Instruction) -> bool:
    """It is this one operation."""
    return operation_of(computation, x) == opcode
