"""Values of which only a few elements are looked up: each is computed where it is asked for.

s = f32[4096,50257] subtract(x, b)      A loss looks up one element of each row:
r = f32[4096] gather(s, labels)         no kernel stores all of s, or computes it.

Fusions whose kernels store whole arrays leave them to those who look them up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.walk import users
from optimizer.fusion.policy import ELEMENTWISE

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction

# Elements of a value for each that is looked up, at least: one takes a sector of memory, 8 floats.
MANY = 8


def looked_up(computation: Computation) -> set[Instruction]:
    """The elementwise values of which users look up a few elements."""
    using = users(computation)
    tables: set[Instruction] = set()
    for instr in reversed(computation.instructions):
        if instr is computation.root or instr.opcode not in ELEMENTWISE or not using[instr]:
            continue
        if all(user in tables or _looks_up_few(user, instr) for user in using[instr]):
            tables.add(instr)
    return tables


def _looks_up_few(user: Instruction, instr: Instruction) -> bool:
    of_it = "slicing" in user.row.traits and user.operands[0] is instr
    few = of_it and user.shape.size * MANY <= instr.shape.size
    return few and instr not in user.operands[1:]
