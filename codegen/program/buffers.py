"""Buffers of a module's arrays: the optimizer's buffer assignment, with emitters' own rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from codegen.elements.table import Entry, Scalar
from codegen.program.placement import recomputed
from hlo.errors.error import HloError
from hlo.walk import called_first
from optimizer.analysis.alias import AliasInfo
from optimizer.log import Log
from optimizer.memory.buffer_assignment import BufferAssignment, shared
from optimizer.memory.buffers import Buffers
from optimizer.memory.copy_insertion import with_copies
from optimizer.memory.heap import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hlo.instruction import Computation, Instruction, Module
    from hlo.table import OpTable
    from optimizer.memory.buffer_assignment import AllocationSlice
    from optimizer.memory.buffers import Buffer

    # The use of memory: arrays that share a buffer, or the scratch memory of an instruction.
    Home = Buffer | Instruction

Writer = TypeVar("Writer")
_PRODUCTS = frozenset({"dot", "convolution"})


class EmitterAliasInfo(AliasInfo):
    """The rules of aliasing: instructions without memory, or that may write into an operand's.

    Parameters
    ----------
    table : an emitter's.
    """

    def __init__(self, module: Module, table: OpTable[Entry]) -> None:
        self.table = table
        called = called_first(module.entry)
        self._recomputed = {instr for c in called for instr in recomputed(table, c)}

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
            alone = not instr.shape.is_tuple or self.is_one_kernel(called)
            return alone and super().may_share(instr, operand, leaf)
        if not isinstance(self.table.get(instr.opcode), Scalar):
            return False
        return super().may_share(instr, operand, leaf)

    def is_one_kernel(self, computation: Computation) -> bool:  # noqa: ARG002
        """Whether one loop computes all results of a fusion."""
        return False


def with_own_copies(
    module: Module, rules: Callable[[Module], EmitterAliasInfo], write: Callable[[Module], Writer]
) -> tuple[Module, Writer]:
    """The writer of a module, and the module with the copies that an emitter's rules ask for.

    The optimizer puts copies where its own rules ask for them. An emitter whose kernels compute
    some results one after the other lets fewer of these lie in operands.

    Parameters
    ----------
    write : makes the writer, which asks where everything lies.

    Raises
    ------
    HloError
        HLO171 if copies are missing by the optimizer's rules already.
    """
    try:
        return module, write(module)
    except HloError as error:
        if error.code != "HLO171" or Buffers(module).refused:
            raise
    module = with_copies(module, rules, Log())
    return module, write(module)


class Memory:
    """The memory of a module whose code is being written.

    Which arrays share a buffer is known from the beginning; where the buffers lie, only when all
    kernels have said how much scratch memory they need.

    Attributes
    ----------
    scratch : bytes that single instructions need.
    spared : copies that are not needed.
    assignment : where everything lies, once that is settled.
    slices : the same, for each buffer and for each instruction's scratch memory.
    """

    assignment: BufferAssignment

    def __init__(self, module: Module, rules: EmitterAliasInfo) -> None:
        self.buffers = shared(module, rules)
        self.spared: Collection[Instruction] = ()
        self.scratch: dict[Instruction, int] = {}
        self.slices: dict[Home, AllocationSlice] = {}
        self.arena_bytes = 0

    def settle(self) -> None:
        """Give everything its address."""
        assignment = self.assignment = BufferAssignment(self.buffers, self.scratch)
        # Behind them lies the memory of each thread.
        self.arena_bytes = aligned(assignment.temporary_bytes)
        for buffer in self.buffers:
            if not (buffer.fixed and buffer.fixed.kind == "constant"):
                self.slices[buffer] = assignment.place(buffer)
        self.slices |= assignment.scratch

    @property
    def donated(self) -> dict[int, int]:
        """For numbers of results, the argument in whose memory they come to lie."""
        flow = self.buffers.flow
        arguments = [v for p in flow.module.entry.parameters for v in flow.at[p]]
        numbers = {argument: number for number, argument in enumerate(arguments)}
        found: dict[int, int] = {}
        for result, value in enumerate(flow.outputs):
            for same in self.buffers.of[value].values if value else ():
                if same in numbers:
                    found[result] = numbers[same]
        return found
