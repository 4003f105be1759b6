"""Values whose summands nobody has added up: `unreduced`, as Shardy calls them.

    d = f32[8,8] dot(columns of a, rows of b)       a summand on each device, its sum wanted later
    e = f32[8,8] add(d, d)                          summands again, for addition is linear

A linear instruction of summands gives the summands of its result. Of any other one, operands are
added up first.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from optimizer.partitioning.cuts import combined
from optimizer.partitioning.sharding_rules import CONSTRAINTS
from optimizer.reducers import operation_of
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Instruction
    from optimizer.partitioning.cuts import CutAxis

    Operands = tuple[int, ...]
# Linear in all operands together.
_TOGETHER = frozenset({
    "add", "broadcast", "concatenate", "convert", "copy", "imag", "negate", "real", "reshape",
    "reverse", "slice", "subtract", "transpose",
})  # fmt: skip
# Linear in one operand while the other one is fixed.
_EACH = frozenset({"convolution", "dot", "multiply"})
# Linear in these operands together; the others are indices, choices or divisors.
_SOME: dict[str, Operands] = {
    "divide": (0,), "dynamic-slice": (0,), "dynamic-update-slice": (0, 1), "gather": (0,),
    "select": (1, 2),
}  # fmt: skip


def linear_in(instr: Instruction) -> Iterator[Operands]:
    """The operands in which an instruction is linear: all of these are summands, and no others."""
    opcode = instr.opcode
    if (opcode in _TOGETHER and _adds(instr)) or _is_constraint(instr):
        yield tuple(range(len(instr.operands)))
    elif opcode in _EACH and _adds(instr):
        yield from ((0,), (1,))
    elif opcode in _SOME:
        yield _SOME[opcode]
    elif opcode == "pad" or (opcode == "reduce" and is_sum(instr)):
        fill = value_of(instr.operands[1])
        if fill is not None and not fill.any():
            yield (0,)


def is_sum(instr: Instruction) -> bool:
    """Whether an instruction adds products or elements up."""
    if instr.opcode in ("convolution", "dot"):
        return _adds(instr)
    one = instr.opcode in ("reduce", "scatter") and instr.shape.is_array
    return one and operation_of(instr.called[0], instr) == "add"


def _adds(instr: Instruction) -> bool:
    kinds = {o.shape.element_type.kind for o in instr.operands if o.shape.is_array}
    return "pred" not in kinds and instr.shape.element_type.kind != "pred"


def _is_constraint(instr: Instruction) -> bool:
    if instr.opcode != "custom-call" or len(instr.operands) != 1 or not instr.shape.is_array:
        return False
    return CustomCall.of(instr).custom_call_target in CONSTRAINTS


def gives_summands(instr: Instruction | None) -> bool:
    """Whether an operand is wanted in the summands that its user is: the same value."""
    return instr is None or _is_constraint(instr)


def left_of(axes: Sequence[CutAxis], summed: CutAxis) -> tuple[CutAxis, ...] | None:
    """The axes that make up another one together, in any order; None if none do."""
    for count in range(1, len(axes) + 1):
        for some in combinations(axes, count):
            axis_left = None
            for axis in some:
                axis_left = combined(axis_left, axis)
            if axis_left and axis_left.blocks == summed.blocks:
                return some
    return None
