"""Moves copies that change a layout after their users, where fewer bytes may be left to copy.

    c = f32[8,8]{0,1} copy(p)                    n = f32[8,8]{1,0} negate(p)
    n = f32[8,8]{0,1} negate(c)           =>     s = f32[2,8]{1,0} slice(n)
    ROOT s = f32[2,8]{0,1} slice(n)              ROOT c = f32[2,8]{0,1} copy(s)

Past elementwise opcodes, slices and reductions: what they yield is no larger. Where two operands
are copies from one layout to another, one copy is left of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.layout.flow import result_order
from optimizer.layout.orders import order_of, with_order
from optimizer.passes import register
from optimizer.rewriting.settle import exchange

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log

# Opcodes that yield no more elements than they read, and in an order that follows from that of
# their operand: those that XLA's `MoveCopyToUsersVisitor` handles, but for pad and concatenate,
# which yield more.
_SHRINKS = frozenset({"dynamic-slice", "reduce", "reduce-window", "reverse", "slice"})


@register
@dataclass(frozen=True)
class MoveCopyToUsers:
    """Sinks copies between layouts."""

    name = "move-copy-to-users"
    xla = "xla/service/gpu/transforms/move_copy_to_users.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with its copies further down."""
        return exchange(module, log, "sink", sunk)


def sunk(user: Instruction, alone: set[Instruction], names: NameSupply) -> Instruction | None:
    """The copy of the user's result, computed from the copies' operands; None without a gain."""
    if not user.shape.is_array or user.annotations.sharding:
        return None
    if not (user.row.elementwise or user.opcode in _SHRINKS):
        return None
    rank = max(operand.shape.rank for operand in user.operands)
    moved = [operand for operand in user.operands if operand.shape.rank == rank]
    if not all(is_move(operand) and operand in alone for operand in moved):
        return None
    sources = {order_of(operand.operands[0].shape) for operand in moved}
    if len(sources) != 1:
        return None
    order = result_order(user, user.operands.index(moved[0]), sources.pop())
    if order is None:
        return None
    copy = moved[0]
    moved_user = user.with_(
        name=names.unique(user.name),
        operands=tuple(o.operands[0] if o in moved else o for o in user.operands),
        shape=with_order(user.shape, order),
    )
    return copy.with_(operands=(moved_user,), shape=user.shape)


def is_move(instr: Instruction) -> bool:
    """Whether an instruction is a copy to another layout."""
    if instr.opcode != "copy" or instr.control_predecessors or not instr.shape.is_array:
        return False
    return order_of(instr.shape) != order_of(instr.operands[0].shape)
