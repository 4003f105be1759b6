"""Shape inference: the shape of an instruction's result, from its operands and attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hlo.errors.error import HloError
from hlo.infer import (
    contraction,
    control,
    devices,
    elementwise,
    indexing,
    leaves,
    linear_algebra,
    movement,
    reduction,
    run_time,
    window,
)
from hlo.infer.size import expect_bounded
from hlo.infer.table import infers
from hlo.types.shape import tuple_of
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape

__all__ = ["infer", "infers"]

# The families that fill the table; naming them keeps the imports from looking unused.
FAMILIES = (
    contraction,
    control,
    devices,
    elementwise,
    indexing,
    leaves,
    linear_algebra,
    movement,
    reduction,
    run_time,
    window,
)
# How many operands the opcodes that take any number cannot do without.
_LEAST_OPERANDS = {
    "async-update": 1,
    "conditional": 1,
    "dynamic-reshape": 1,
    "dynamic-slice": 1,
    "dynamic-update-slice": 2,
}


def infer(instr: Instruction) -> Shape:
    """The shape of an instruction's result.

    Where the operands leave something open (a reshape's dimensions, the element type of a convert,
    everything of a parameter), that part is taken from the declared `instr.shape` and checked.

    Raises
    ------
    HloError
        at the instruction, with one of the codes HLO020 to HLO049 or HLO071.

    References
    ----------
    XLA, `xla/service/shape_inference.cc` and the ShapeVerifier of `hlo_verifier.cc`.
    """
    # A reader of text that leaves shapes out has none to declare yet.
    if cast("Shape | None", instr.shape) is None:
        instr = instr.with_(shape=tuple_of())
    try:
        _expect_arity(instr)
        shape = infers[instr.opcode](instr, instr.attrs, *[o.shape for o in instr.operands])
        expect_bounded(shape)
    except HloError as error:
        message = f"{instr.opcode}: {error.message}"
        raise HloError(error.code, message, error.span or instr.span, error.notes) from None
    return shape


def _expect_arity(instr: Instruction) -> None:
    """HLO024 unless there are as many operands as the opcode takes, HLO044 for computations."""
    row = instr.row
    if row.arity is not None and len(instr.operands) != row.arity:
        wanted = counted(row.arity, "operand")
        raise HloError("HLO024", f"takes {wanted}, not {len(instr.operands)}")
    least = _LEAST_OPERANDS.get(instr.opcode, 0)
    if len(instr.operands) < least:
        raise HloError("HLO024", f"takes at least {counted(least, 'operand')}")
    # How many branches a conditional has, or computations a custom-call, is up to it.
    if not any(key.endswith("*") for key in row.called) and len(instr.called) != len(row.called):
        raise HloError(
            "HLO044",
            f"calls {counted(len(row.called), 'computation')}, not {len(instr.called)}",
        )
