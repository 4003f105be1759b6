"""Gives every buffer its bytes: of a parameter, a constant, an output, or the arena of temporaries.

References
----------
XLA, `xla/service/buffer_assignment.cc`.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.notebook import shown_in_notebooks
from hlo.opcode import SEQUENTIAL
from hlo.walk import called_first
from optimizer.analysis.alias import DEFAULT
from optimizer.analysis.dataflow import Value
from optimizer.memory.buffers import Buffer, Buffers, Clash
from optimizer.memory.heap import Block, Heap, pack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.analysis.alias import AliasInfo

# A guard against long searches: outputs whose memory is looked at for a temporary array, the
# smallest first.
HOSTS = 64


@dataclass(eq=False, slots=True)
class Allocation:
    """A piece of memory.

    Attributes
    ----------
    parameter : the leaf of the module's arguments that it is.
    output : the leaf of the module's result that it becomes.
    constant : it holds a constant.
    thread_local : it holds what a computation needs that is applied to single elements.
    buffers : those that lie in it, and at which offset.
    """

    index: int
    size: int
    parameter: int | None = None
    output: int | None = None
    constant: bool = False
    thread_local: Computation | None = None
    buffers: dict[Buffer, int] = field(default_factory=dict[Buffer, int])

    @property
    def is_temporary(self) -> bool:
        """Whether it is the arena of temporary arrays."""
        others = (self.parameter, self.output, self.thread_local)
        return others == (None, None, None) and not self.constant


@dataclass(frozen=True, slots=True)
class AllocationSlice:
    """Bytes of an allocation."""

    allocation: Allocation
    offset: int
    size: int

    def overlaps(self, other: AllocationSlice) -> bool:
        """Whether some bytes belong to both."""
        return (
            self.allocation is other.allocation
            and self.offset < other.offset + other.size
            and other.offset < self.offset + self.size
        )


@shown_in_notebooks
class BufferAssignment:
    """The buffer assignment: an allocation and an offset for every array of a module.

    Attributes
    ----------
    buffers : which values share memory.
    allocations : the arena of temporaries is the last one, if there is any.
    scratch : bytes of the arena for the use of single instructions.
    """

    def __init__(self, buffers: Buffers, scratch: Mapping[Instruction, int] | None = None) -> None:
        self.module = buffers.flow.module
        self.buffers = buffers
        self.allocations: list[Allocation] = []
        self.scratch: dict[Instruction, AllocationSlice] = {}
        self._of: dict[Buffer, AllocationSlice] = {}
        self._allocate(scratch or {})

    def slice(self, instr: Instruction, leaf: int = 0) -> AllocationSlice | None:
        """The allocation slice of a leaf of an instruction's value; None for tokens."""
        value = self.buffers.flow.at[instr][leaf]
        return self._of[self.buffers.of[value]] if isinstance(value, Value) else None

    def slice_of(self, buffer: Buffer) -> AllocationSlice:
        """The allocation slice of a buffer."""
        return self._of[buffer]

    @property
    def temporary_bytes(self) -> int:
        """Size of the arena."""
        return sum(a.size for a in self.allocations if a.is_temporary)

    # -------------------------------------------------------------- allocations

    def _new(self, size: int, **kinds: int | bool | Computation | None) -> Allocation:
        allocation = Allocation(len(self.allocations), size, **kinds)  # type: ignore[arg-type]
        self.allocations.append(allocation)
        return allocation

    def _put(self, buffer: Buffer, allocation: Allocation, offset: int) -> None:
        allocation.buffers[buffer] = offset
        self._of[buffer] = AllocationSlice(allocation, offset, buffer.bytes)

    def _allocate(self, scratch: Mapping[Instruction, int]) -> None:
        own = self._parameters_and_outputs()
        hosts: list[tuple[Allocation, Heap]] = []
        for buffer, (parameter, output) in own.items():
            allocation = self._new(buffer.bytes, parameter=parameter, output=output)
            self._put(buffer, allocation, 0)
            if output is not None:
                heap = Heap()
                heap.put(block(buffer), 0)
                hosts.append((allocation, heap))
        for buffer in self.buffers:
            if buffer not in self._of and buffer.fixed:
                self._put(buffer, self._new(buffer.bytes, constant=True), 0)
        for computation in applied(self.module):
            self._new(_own_bytes(computation), thread_local=computation)
        rest = [b for b in self.buffers if b not in self._of]
        self._arena(self._in_outputs(rest, hosts), scratch)

    def _parameters_and_outputs(self) -> dict[Buffer, tuple[int | None, int | None]]:
        """The buffers of parameters, outputs, and of both where a parameter is donated."""
        flow, of = self.buffers.flow, self.buffers.of
        leaves = [leaf for p in self.module.entry.parameters for leaf in flow.at[p]]
        numbers: dict[Buffer, tuple[int | None, int | None]] = {}
        for number, value in enumerate(leaves):
            if isinstance(value, Value):
                numbers[of[value]] = (number, None)
        for number, value in enumerate(flow.outputs):
            if value:
                parameter, _ = numbers.get(of[value], (None, None))
                numbers[of[value]] = (parameter, number)
        return numbers

    def _in_outputs(self, rest: list[Buffer], hosts: list[tuple[Allocation, Heap]]) -> list[Buffer]:
        """Place temporaries where the outputs will be, while these are not computed yet.

        Returns
        -------
        list
            the buffers that found no room.
        """
        hosts = sorted(hosts, key=lambda host: host[0].size)
        sizes = [host.size for host, _ in hosts]
        left: list[Buffer] = []
        for buffer in sorted(rest, key=lambda b: -b.bytes):
            enough, needed = bisect_left(sizes, buffer.bytes), block(buffer)
            for host, heap in hosts[enough : enough + HOSTS] if buffer.bytes else ():
                offset = heap.gap(needed)
                if offset + buffer.bytes <= host.size:
                    heap.put(needed, offset)
                    self._put(buffer, host, offset)
                    break
            else:
                left.append(buffer)
        return left

    def _arena(self, buffers: list[Buffer], scratch: Mapping[Instruction, int]) -> None:
        time = self.buffers.flow.timeline.time
        blocks = [block(b) for b in buffers]
        blocks += [Block(size, [(time[i], time[i])]) for i, size in scratch.items()]
        offsets, size = pack(blocks)
        if not blocks:
            return
        arena = self._new(size)
        for buffer, offset in zip(buffers, offsets, strict=False):
            self._put(buffer, arena, offset)
        for (instr, needed), offset in zip(scratch.items(), offsets[len(buffers) :], strict=True):
            self.scratch[instr] = AllocationSlice(arena, offset, needed)


def assign(module: Module, info: AliasInfo = DEFAULT) -> BufferAssignment:
    """Give every array of a module its bytes.

    Raises
    ------
    HloError
        HLO170 if computations have several sequential callers, HLO171 if copies are missing.
    """
    return BufferAssignment(as_few_as_may_be(Buffers(module, info)))


def as_few_as_may_be(buffers: Buffers) -> Buffers:
    """Buffers that share memory with their operands' where that is allowed.

    Raises
    ------
    HloError
        HLO171 if copies are missing.
    """
    for wish, clash in buffers.refused[:1]:
        message = clashing(clash)
        notes = ["run the pass copy-insertion first"]
        raise HloError("HLO171", message, wish.target.instruction.span, notes)
    share_operands(buffers)
    return buffers


def clashing(clash: Clash) -> str:
    """The reason why two values that must share memory cannot."""
    one, other = clash.one, clash.other
    if one.instruction is other.instruction:
        return f"%{one.name} would lie in one place, where two values are needed at the same time"
    return f"%{one.name} and %{other.name} must share memory, but both are needed at the same time"


def block(buffer: Buffer) -> Block:
    """The live range and size of a buffer, for packing."""
    spans: list[tuple[int, int]] = []
    for first, last, _ in buffer.stays:
        if spans and first <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
        else:
            spans.append((first, last))
    return Block(buffer.bytes, spans)


def share_operands(buffers: Buffers) -> None:
    """Let results take the memory of operands that are read there for the last time."""
    flow, info = buffers.flow, buffers.info
    for instr in flow.timeline.order:
        for leaf, value in enumerate(flow.at[instr]):
            if not isinstance(value, Value) or value.instruction is not instr:
                continue
            for number, operand in enumerate(instr.operands):
                source = flow.at[operand][0] if flow.at[operand] else None
                if (
                    isinstance(source, Value)
                    and value.kind == "result"
                    and info.may_share(instr, number, leaf)
                    and buffers.share(source, value)
                ):
                    break


def applied(module: Module) -> Iterable[Computation]:
    """Computations that are applied to single elements: of reduce, map, sort and the like."""
    sequential = {module.entry}
    fused: set[Computation] = set()
    for computation in called_first(module.entry):
        for instr in computation.instructions:
            if instr.opcode in SEQUENTIAL:
                sequential.update(instr.called)
            elif instr.opcode == "fusion":
                fused.update(instr.called)
    others = sequential | fused
    return [c for c in called_first(module.entry) if c not in others]


def _own_bytes(computation: Computation) -> int:
    """Bytes of all values of a computation of scalars."""
    return sum(i.shape.unpacked_bytes for i in computation.instructions)
