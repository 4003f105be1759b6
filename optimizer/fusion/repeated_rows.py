"""Rows that a broadcast repeats, and the work for their elements.

y[i, j] = f(x[i, j], g(a[j], b[j], ...)): the row g is the same for all i
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.support import machine
from optimizer.fusion.policy import ELEMENTWISE, MOVEMENT

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.fusion.policy import Policy

# Instructions that are looked at: larger numbers of operations decide nothing more.
_MOST = 16


def repeats_rows(instr: Instruction) -> bool:
    """Whether an instruction repeats whole rows, which fill a vector at least."""
    if instr.opcode != "broadcast":
        return False
    dims, operand = instr.shape.dims, instr.operands[0].shape
    last = a.Dimensions.of(instr).dimensions[-1:] == (len(dims) - 1,)
    return last and operand.rank < len(dims) and operand.dims[-1] == dims[-1] >= machine.LANES


def operations_behind(instr: Instruction, policy: Policy) -> int:
    """The number of elementwise operations behind an element, up to `_MOST` instructions back."""
    operations: dict[Instruction, None] = {}
    stack = [instr]
    while stack and len(operations) < _MOST:
        current = stack.pop()
        inside = current.opcode in ELEMENTWISE or current.opcode in MOVEMENT
        if inside and current not in operations and not policy.is_expensive(current):
            operations[current] = None
            stack += current.operands
    return sum(operation.opcode in ELEMENTWISE for operation in operations)
