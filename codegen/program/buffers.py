"""Buffers of a module's arrays: the optimizer's, save for what is never stored.

Elements of a broadcast or an iota are computed anew wherever they are used. All else is where the
optimizer's rules for the target allow it (`optimizer.memory.alias_info`), by which it has put the
copies that are needed, so emitters add none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.program.placement import recomputed
from hlo.walk import called_first
from optimizer.memory.buffer_assignment import BufferAssignment, as_few_as_may_be
from optimizer.memory.buffers import Buffers
from optimizer.memory.heap import aligned

if TYPE_CHECKING:
    from collections.abc import Collection

    from codegen.elements.table import Entry
    from hlo.instruction import Instruction, Module
    from hlo.table import OpTable
    from optimizer.analysis.alias import AliasInfo
    from optimizer.memory.buffer_assignment import AllocationSlice
    from optimizer.memory.buffers import Buffer

    # The use of memory: arrays that share a buffer, or the scratch memory of an instruction.
    Home = Buffer | Instruction


def stored(module: Module, table: OpTable[Entry], info: AliasInfo) -> Buffers:
    """The buffers of a module whose copies an optimizer has inserted by its rules.

    What an emitter computes anew reads its operands later than if it were stored. Where that would
    need one more copy, it is stored.

    Parameters
    ----------
    table : the emitter's.
    info : the optimizer's rules for the target.
    """
    anew = {instr for c in called_first(module.entry) for instr in recomputed(table, c)}
    while True:
        buffers = Buffers(module, replace(info, recomputed=anew))
        late = {value for _, clash in buffers.refused for value in (clash.one, clash.other)}
        still = {instr for instr in anew if not late.intersection(buffers.flow.read_by(instr))}
        if still == anew:
            return buffers
        anew = still


class Memory:
    """The memory of a module whose code is being written.

    Which arrays share a buffer is known from the beginning; where the buffers lie, only when all
    kernels have said how much scratch memory they need.

    Parameters
    ----------
    table, info : as of `stored`.

    Attributes
    ----------
    scratch : bytes that single instructions need.
    spared : copies that are not needed.
    assignment : where everything lies, once that is settled.
    slices : the same, for each buffer and for each instruction's scratch memory.
    """

    assignment: BufferAssignment

    def __init__(self, module: Module, table: OpTable[Entry], info: AliasInfo) -> None:
        self.buffers = as_few_as_may_be(stored(module, table, info))
        self.spared: Collection[Instruction] = ()
        self.scratch: dict[Instruction, int] = {}
        self.slices: dict[Home, AllocationSlice] = {}
        self.arena_bytes = 0

    def settle(self) -> None:
        """Give everything its address."""
        assignment = self.assignment = BufferAssignment(self.buffers, self.scratch)
        # After them lies the memory of each thread.
        self.arena_bytes = aligned(assignment.temporary_bytes)
        for buffer in self.buffers:
            if not (buffer.fixed and buffer.fixed.kind == "constant"):
                self.slices[buffer] = assignment.slice_of(buffer)
        self.slices |= assignment.scratch

    @property
    def donated(self) -> dict[int, int]:
        """For numbers of results, the argument in whose memory they come to lie."""
        flow = self.buffers.flow
        arguments = [v for p in flow.module.entry.parameters for v in flow.at[p]]
        numbers = {argument: number for number, argument in enumerate(arguments)}
        donors: dict[int, int] = {}
        for result, value in enumerate(flow.outputs):
            for same in self.buffers.of[value].values if value else ():
                if same in numbers:
                    donors[result] = numbers[same]
        return donors
