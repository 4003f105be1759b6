"""The flow of layouts through instructions: from operands to the result and back.

Three kinds of opcodes. Some *carry* the order of an operand to their result: elementwise ones and
all that treat dimensions alike keep it, transposes and reshapes take one for which no byte moves.
Some are *free*: iota, constants and the like make any order at no cost. All others compute on
row-major arrays and yield such; the table of a target (`policy`) says where it is otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.opcode import COMPILE_TIME, having
from optimizer.layout.orders import (
    Order,
    reshaped,
    rows,
    selected,
    transposed,
    untransposed,
)

if TYPE_CHECKING:
    from hlo.instruction import Instruction

FREE = COMPILE_TIME | {"rng"}
# Opcodes with other dimensions than their operands, one function below for each.
CARRIERS = frozenset({"broadcast", "reduce", "reshape", "transpose"})
_ALIKE = having("elementwise") | having("same_dimensions")


def is_alike(instr: Instruction) -> bool:
    """Whether operands of the result's rank have the result's dimensions."""
    return instr.opcode in _ALIKE


def carries(instr: Instruction) -> bool:
    """Whether the order of the result follows from that of an operand."""
    return instr.shape.is_array and (is_alike(instr) or instr.opcode in CARRIERS)


def can_have(instr: Instruction, order: Order) -> bool:
    """Whether an instruction can leave its result in an order: a reshape never moves a byte."""
    if instr.opcode != "reshape":
        return True
    return reshaped(instr.shape.dims, order, instr.operands[0].shape.dims) is not None


def result_order(instr: Instruction, number: int, order: Order) -> Order | None:
    """The order of a carrier's result where one operand has the given order.

    Returns
    -------
    tuple of int or None
        None where the operand says nothing about the result's order.
    """
    operand = instr.operands[number].shape
    if is_alike(instr):
        return order if operand.rank == instr.shape.rank else None
    if number:
        return None
    if instr.opcode == "transpose":
        return transposed(order, _dimensions(instr))
    if instr.opcode == "reshape":
        return reshaped(operand.dims, order, instr.shape.dims)
    if instr.opcode == "reduce":
        return selected(order, _kept(instr))
    return None


def operand_order(instr: Instruction, number: int, order: Order) -> Order | None:
    """The order that a carrier wants of an operand where its result has the given order.

    Returns
    -------
    tuple of int or None
        None where any order will do.
    """
    operand = instr.operands[number].shape
    if is_alike(instr):
        return order if operand.rank == instr.shape.rank else None
    if instr.opcode == "transpose":
        return untransposed(order, _dimensions(instr))
    if instr.opcode == "reshape":
        return reshaped(instr.shape.dims, order, operand.dims)
    if instr.opcode == "broadcast":
        return selected(order, _dimensions(instr))
    return _reduced(instr, order) if number == 0 else None


def _dimensions(instr: Instruction) -> tuple[int, ...]:
    return a.Dimensions.of(instr).dimensions


def _kept(reduce: Instruction) -> list[int]:
    gone = _dimensions(reduce)
    return [dim for dim in range(reduce.operands[0].shape.rank) if dim not in gone]


def _reduced(reduce: Instruction, order: Order) -> Order:
    """The operand's layout with which a reduce gives a layout: row-major if that does."""
    dims = _kept(reduce)
    plain = rows(reduce.operands[0].shape.rank)
    if selected(plain, dims) == order:
        return plain
    return (*sorted(_dimensions(reduce), reverse=True), *(dims[dim] for dim in order))
