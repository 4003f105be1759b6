"""Runs a program's steps on a device, be it the processor, a GPU or a stand-in."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.program.steps import BufferSlice, CollectiveStep, Copy, HostCall, Launch, LibraryCall
from codegen.program.streams import Choice, Iterations, Segment
from codegen.program.trees import nested
from codegen.program.values import leaves
from emit_cuda.arrays import fetched
from emit_cuda.devices import NamedMemory, Purpose
from emit_cuda.exchange import Seat, meet
from hlo.build import alone
from hlo.instruction import Module
from interpreter.engine.evaluate import evaluate
from interpreter.engine.frame import Frame, quiet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from codegen.program.steps import BufferRef, Work
    from codegen.program.streams import Part
    from emit_cuda.devices import CudaDevice, Kernels, RecordedGraph
    from emit_cuda.exchange import Rank
    from emit_cuda.libraries import Libraries
    from hlo.types.shape import Shape

Addresses = dict[str, tuple[int, ...]]
# The key of a recording: a part of a program, and the addresses of arguments and results.
Key = tuple[Any, tuple[int, ...], tuple[int, ...]]
# A guard for memory: graphs that an executable keeps, of its segments on the memory of its latest
# calls.
MOST_GRAPHS = 64


class Graphs:
    """The segments that were recorded, each on some addresses; the oldest are given up."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, RecordedGraph | None] = OrderedDict()

    def get(self, key: Key) -> RecordedGraph | None:
        """The recorded graph; None if there is none."""
        graph = self._kept.get(key)
        if graph is not None:
            self._kept.move_to_end(key)
        return graph

    def is_new(self, key: Key) -> bool:
        """Whether a segment is run on these addresses for the first time."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return False
        self.keep(key, None)
        return True

    def keep(self, key: Key, graph: RecordedGraph | None) -> None:
        """Keep a recording."""
        self._kept[key] = graph
        if len(self._kept) > MOST_GRAPHS:
            _, oldest = self._kept.popitem(last=False)
            if oldest is not None:
                oldest.close()

    def close(self) -> None:
        """Give all of them up."""
        for graph in self._kept.values():
            if graph is not None:
                graph.close()
        self._kept.clear()


@dataclass(slots=True)
class Runner:
    """A program with the addresses of all its memory.

    Attributes
    ----------
    kernels : None for a program without launches.
    addresses : of the arguments, the results, the arena and the constants.
    libraries : those of the program's library calls.
    graphs : of earlier calls, where the device records them; else None. A segment that runs on
        the same memory for the second time is recorded, and then costs one call of the driver.
    rank : the place among the devices that run together; None for a device that is alone.
    """

    device: CudaDevice
    kernels: Kernels | None
    addresses: Addresses
    libraries: Libraries
    graphs: Graphs | None
    rank: Rank | None = None

    def run(self, program: Sequence[Part]) -> None:
        """Do all steps."""
        for part in program:
            match part:
                case Segment():
                    self._segment(part)
                case HostCall():
                    self._compute(part)
                case Iterations():
                    if not self._replayed(part):
                        self._iterate(part)
                case Choice(step, branches):
                    if not self._replayed(part):
                        self.run(branches[self._branch(step.number, step.of_pred, len(branches))])

    def _iterate(self, loop: Iterations) -> None:
        """Let a loop run, of which the host reads the predicate where it must.

        The copy of the next predicate begins as soon as that is computed. The host waits for the
        copy alone, while the device does the rest of the iteration.
        """
        if loop.step.trips is not None:
            for _ in range(loop.step.trips):
                self.run(loop.early)
            return
        self.run(loop.begin)
        goes_on, address = np.empty((), np.bool_), self._address(loop.step.predicate)
        wait = self.device.ask(address, goes_on)
        wait()
        while goes_on[()]:
            self.run(loop.early)
            wait = self.device.ask(address, goes_on)
            self.run(loop.late)
            wait()

    def _replayed(self, part: Iterations | Choice) -> bool:
        """Run a loop or a branch as a graph with conditions; whether that was done.

        As with segments, it is recorded when it is run for the second time on the same memory.
        """
        if self.graphs is None or not self.device.conditionals or _asks_the_host(part):
            return False
        key = self._key(part)
        if self.graphs.is_new(key):
            return False
        graph = self.graphs.get(key) or self.device.capture_control(lambda: self._record([part]))
        if graph is None:
            return False
        self.graphs.keep(key, graph)
        self.device.replay(graph)
        return True

    def _record(self, program: Sequence[Part]) -> None:
        """Ask the device for all steps while it records, loops and branches among them."""
        for part in program:
            match part:
                case Segment():
                    self._issue(part)
                case Iterations(step, begin, early, late):
                    self._record(begin)
                    again = partial(self._record, (*early, *late))
                    self.device.record_loop(again, self._address(step.predicate))
                case Choice(step, branches):
                    number = self._address(step.number)
                    recorders = [partial(self._record, branch) for branch in branches]
                    self.device.record_choice(recorders, number, of_pred=step.of_pred)
                case HostCall():
                    raise AssertionError("the processor computes while nothing is recorded")

    def _segment(self, segment: Segment) -> None:
        if self.graphs is None:
            self._issue(segment)
            return
        key = self._key(segment)
        graph = self.graphs.get(key)
        if graph is None:
            if self.graphs.is_new(key):
                self._issue(segment)
                return
            with self.device.capture() as graph:
                self._issue(segment)
            self.graphs.keep(key, graph)
        self.device.replay(graph)

    def _key(self, part: Part) -> Key:
        return part, self.addresses["argument"], self.addresses["result"]

    def _issue(self, segment: Segment) -> None:
        """Ask the device for all steps; other streams begin after stream 0, and end before it."""
        device, events, begun = self.device, dict[int, Any](), {0}
        start = device.record(0) if segment.streams else None
        for number, queued in enumerate(segment.queue):
            if queued.stream not in begun:
                device.wait(queued.stream, start)
                begun.add(queued.stream)
            for before in queued.after:
                device.wait(queued.stream, events[before])
            self._do(queued.step, queued.stream)
            if queued.awaited:
                events[number] = device.record(queued.stream)
        for stream in segment.streams:
            device.wait(0, device.record(stream))

    def _do(self, step: Work, stream: int) -> None:
        match step:
            case Launch():
                pointers = [self._address(argument) for argument in step.arguments]
                assert self.kernels is not None, "there is a launch"
                purpose = Purpose(step.about, self._memory(step) if self.device.watches else None)
                self.kernels.launch(
                    step.kernel,
                    step.grid,
                    step.block,
                    step.shared_bytes,
                    pointers,
                    stream=stream,
                    purpose=purpose,
                    cooperative=step.cooperative,
                )
            case LibraryCall(function, arguments):
                pointers = [self._address(argument) for argument in arguments]
                with self.device.current():
                    self.libraries.run(function, pointers, self.device.handle(stream))
            case Copy(target, source, size):
                self.device.copy(self._address(target), self._address(source), size, stream)
            case CollectiveStep():
                self._meet(step, stream)

    def _meet(self, step: CollectiveStep, stream: int) -> None:
        """Exchange arrays with other devices, and combine what they brought."""
        assert self.rank is not None, "the program is for several devices"
        addresses = tuple(map(self._address, step.arguments))
        count = len(step.instruction.operands)
        parts = addresses[:count], addresses[count : 2 * count], addresses[2 * count :]
        seat = Seat(self.device, self.rank.device.number, stream, *parts)
        members = meet(step, self.rank, seat)
        for launch in dict(step.folds).get(members, ()):
            self._do(launch, stream)

    def _compute(self, call: HostCall) -> None:
        """Let the processor compute, as the interpreter does."""
        instr, addresses = call.instruction, map(self._address, call.arguments)
        operands: list[object] = []
        for operand in instr.operands:
            shapes = (s for _, s in operand.shape.leaves())
            arrays = (self._fetched(s, addresses) if s.is_array else None for s in shapes)
            operands.append(nested(operand.shape, arrays))
        computation = alone(instr)
        if self.rank is not None:
            with quiet():
                computed = Frame(self.rank.device).call(computation, *operands)
        else:
            module = Module("host_call", (*instr.called, computation), computation)
            computed = evaluate(module, *operands)
        for value in leaves(computed):
            if value is None:
                continue
            address = next(addresses)
            if value.size:
                self.device.write(address, np.ascontiguousarray(value))

    def _fetched(self, shape: Shape, addresses: Iterator[int]) -> NDArray[Any]:
        return fetched(self.device, next(addresses), shape.dims, shape.element_type.dtype)

    def _memory(self, step: Launch) -> list[NamedMemory]:
        """The memory that a kernel may use: its arguments, each with its name."""
        slices = {p for p in step.arguments if isinstance(p, BufferSlice)}
        memory: list[NamedMemory] = []
        for used in sorted(slices, key=lambda p: (self._address(p), p.size, p.name)):
            begin, name = self._address(used), f"{used.name}, {used.size} bytes"
            end = begin + used.size
            if memory and begin < memory[-1].address + memory[-1].size:
                # Arrays of a loop that are there one after the other share memory.
                last = memory.pop()
                begin, end = last.address, max(end, last.address + last.size)
                name = name if last.name == name else f"{last.name}; {name}"
            memory.append(NamedMemory(begin, end - begin, name))
        return memory

    def _address(self, ref: BufferRef) -> int:
        assert isinstance(ref, BufferSlice)
        return self.addresses[ref.memory][ref.number] + ref.offset

    def _read(self, ref: BufferRef, dtype: Any) -> Any:
        value = np.empty((), dtype)
        self.device.read(self._address(ref), value)
        return value[()]

    def _branch(self, number: BufferRef, of_pred: bool, count: int) -> int:
        if of_pred:
            return 0 if self._read(number, np.bool_) else 1
        index = int(self._read(number, np.int32))
        return index if 0 <= index < count else count - 1


def _asks_the_host(part: Part) -> bool:
    """Whether the processor computes something inside of a loop or a branch."""
    match part:
        case Iterations(_, begin, early, late):
            return any(map(_asks_the_host, (*begin, *early, *late)))
        case Choice(_, branches):
            return any(_asks_the_host(step) for branch in branches for step in branch)
        case _:
            return isinstance(part, HostCall)
