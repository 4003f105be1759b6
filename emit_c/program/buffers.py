"""Where the arrays of a module lie in C: the optimizer's buffer assignment, with C's own rules.

All arrays lie row-major one after the other, whatever their layouts say, so a reshape never moves
anything, and a bitcast only where it looks at another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.table import Scalar
from codegen.opcodes.movement import memory_order
from codegen.program.placement import recomputed
from emit_c.program.swapping import find_swaps
from emit_c.program.sweeps import common_loops
from emit_c.table import emits_c
from hlo.walk import called_first
from optimizer.analysis.alias import AliasInfo
from optimizer.log import Log
from optimizer.memory.buffer_assignment import BufferAssignment, shared
from optimizer.memory.copy_insertion import with_copies
from optimizer.memory.heap import aligned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Instruction, Module
    from optimizer.memory.buffer_assignment import Allocation
    from optimizer.memory.buffers import Buffer

__all__ = ["Memory", "Rules", "ready"]


_PRODUCTS = frozenset({"dot", "convolution"})


class Rules(AliasInfo):
    """Which instructions need no memory in C, or may write into an operand's."""

    def __init__(self, module: Module) -> None:
        self._recomputed = {
            instr for c in called_first(module.entry) for instr in recomputed(emits_c, c)
        }

    def forwards(self, instr: Instruction) -> bool:
        """Whether an instruction's value is memory of its operands, under another name."""
        if instr.opcode == "bitcast":
            return renames(instr)
        return instr.opcode == "reshape" or super().forwards(instr)

    def recomputed(self, instr: Instruction) -> bool:
        """Whether an instruction is computed anew wherever it is used, and never stored."""
        return instr in self._recomputed

    def may_share(self, instr: Instruction, operand: int, leaf: int) -> bool:
        """Whether a leaf of the result may be written into an operand as it is read.

        A copy in the same place is none. Sorts and products may use the result as room for work.
        """
        if instr.opcode == "copy":
            return instr.shape.is_array
        if instr.opcode == "fusion":
            called = instr.called[0]
            if any(i.opcode in _PRODUCTS for i in called.instructions):
                return False
            # Results that have no loops in common are computed one after the other.
            alone = not instr.shape.is_tuple or common_loops(called) is not None
            return alone and super().may_share(instr, operand, leaf)
        if not isinstance(emits_c.get(instr.opcode), Scalar):
            return False
        return super().may_share(instr, operand, leaf)


def renames(instr: Instruction) -> bool:
    """Whether a bitcast leaves every element where it is."""
    source, target = instr.operands[0].shape, instr.shape
    same = source.element_type is target.element_type
    ordered = all(memory_order(s) == tuple(range(s.rank)) for s in (source, target))
    return same and ordered


def ready(module: Module) -> Module:
    """The module with the copies that it needs in C, and no computation called from two places."""
    return with_copies(module, Rules, Log())


class Memory:
    """The memory of a module whose C is being written.

    Which arrays share a buffer is known from the beginning; where the buffers lie, only when all
    kernels have said how much scratch memory they need.

    Attributes
    ----------
    scratch : bytes that single instructions need.
    swaps : loops whose state changes places.
    spared : the copies that are not needed for that.
    assignment : where everything lies, once that is settled.
    """

    assignment: BufferAssignment

    def __init__(self, module: Module) -> None:
        self.buffers = shared(module, Rules(module))
        self.swaps = find_swaps(self.buffers)
        self.spared = {swap.copy for swaps in self.swaps.values() for swap in swaps}
        self.scratch: dict[Instruction, int] = {}
        self._numbers = {buffer: n for n, buffer in enumerate(self.buffers)}
        self._places: dict[str, str] = {}
        self.arena_bytes = 0

    def place(self, buffer: Buffer) -> str:
        """What stands for a buffer's address until `settle` is called."""
        return f"@{self._numbers[buffer]}@"

    def scratch_for(self, instr: Instruction, size: int) -> str:
        """Give an instruction memory for itself; gives what stands for its address."""
        self.scratch[instr] = size
        return f"@scratch {len(self.scratch) - 1}@"

    def settle(self) -> None:
        """Give everything its address."""
        assignment = self.assignment = BufferAssignment(self.buffers, self.scratch)
        # Behind them lies what threads need for themselves.
        self.arena_bytes = aligned(assignment.temporary_bytes)
        for buffer in self.buffers:
            if buffer.fixed and buffer.fixed.kind == "constant":
                continue
            place = assignment.place(buffer)
            self._places[self.place(buffer)] = _address(place.allocation, place.offset)
        for number, place in enumerate(assignment.scratch.values()):
            self._places[f"@scratch {number}@"] = _address(place.allocation, place.offset)

    @property
    def places(self) -> Mapping[str, str]:
        """The addresses for what stands for them."""
        return self._places

    @property
    def donated(self) -> dict[int, int]:
        """For numbers of results, the argument in whose memory they come to lie."""
        flow = self.buffers.flow
        arguments = [v for p in flow.module.entry.parameters for v in flow.at[p]]
        found: dict[int, int] = {}
        for result, value in enumerate(flow.outputs):
            for number, argument in enumerate(arguments):
                if value and argument in self.buffers.of[value].values:
                    found[result] = number
        return found


def _address(allocation: Allocation, offset: int) -> str:
    """An address as C spells it."""
    behind = f" + {offset}" if offset else ""
    if allocation.output is not None:
        return (
            f"((u8 *)out[{allocation.output}]{behind})" if offset else f"out[{allocation.output}]"
        )
    if allocation.parameter is not None:
        return f"in[{allocation.parameter}]"
    return f"(arena{behind})" if offset else "arena"
