"""A module as a program in the making."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.program.buffers import Memory
from codegen.program.steps import (
    Branch,
    BufferSlice,
    CollectiveStep,
    Copy,
    HostCall,
    Launch,
    LibraryCall,
    Step,
    While,
)
from emit_cuda.code.names import CudaNames
from emit_cuda.grids.kernel import CudaConstants
from emit_cuda.table import emits_cuda
from optimizer.memory.alias_info import ALIAS_INFO
from optimizer.memory.buffer_assignment import block
from optimizer.memory.buffers import Buffer
from optimizer.memory.heap import Block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codegen.program.buffers import Home
    from emit_cuda.grids.kernel import Schedule
    from emit_cuda.kernels.file import KernelFile
    from emit_cuda.libraries import Libraries
    from hlo.instruction import Computation, Module

    Write = Callable[["CudaModuleWriter", Computation], tuple[Step, ...]]

# The bytes that a small array has for itself.
_APART = 256


class CudaModuleWriter:
    """The parts of a program in the making.

    Parameters
    ----------
    write : writes the steps of a computation.
    libraries : those that are called in the place of kernels, where they are installed.
    grid : the replicas and partitions that run it together.
    schedule : of the user's: see `emit_cuda.emit`.

    Attributes
    ----------
    pointers : names of pointers, each once in the module.
    declared : for such a name, the memory that it leads into, and how many bytes into it.
    repeats : steps that are written now are inside of a loop.
    """

    def __init__(
        self,
        module: Module,
        write: Write,
        kernels: KernelFile,
        libraries: Libraries,
        grid: tuple[int, int],
        schedule: Schedule | None = None,
    ) -> None:
        self.write, self.libraries, self.grid, self.schedule = write, libraries, grid, schedule
        self.memory = Memory(module, emits_cuda, ALIAS_INFO["gpu"])
        self.pointers = CudaNames()
        self.constants = CudaConstants(self.pointers)
        self.kernels = kernels
        self.repeats = False
        self.declared: dict[str, tuple[Home, int]] = {}
        self._steps: dict[Computation, tuple[Step, ...]] = {}
        self._apart: list[Home] = []

    def keep_apart(self, pointers: Iterable[str]) -> None:
        """Give small arrays memory that no others share, after the others of the arena."""
        for home, _ in (self.declared[p] for p in pointers if p in self.declared):
            if isinstance(home, Buffer) and home.bytes <= _APART and home not in self._apart:
                self._apart.append(home)

    def may_overlap(self, one: str, other: str) -> bool:
        """Whether two pointers may lead to the same bytes, before buffers are assigned.

        Buffers that are needed at the same moment have memory of their own.
        """
        if one == other or not {one, other} <= self.declared.keys():
            return one == other
        first, second = (self.declared[pointer][0] for pointer in (one, other))
        if first is second:
            return True
        if any(isinstance(home, Buffer) and home.fixed for home in (first, second)):
            return False
        return not self._block(first).meets(self._block(second))

    def _block(self, home: Home) -> Block:
        """The moments in which something needs its memory."""
        if isinstance(home, Buffer):
            return block(home)
        moment = self.memory.buffers.flow.timeline.time[home]
        return Block(0, [(moment, moment)])

    @property
    def arena_bytes(self) -> int:
        """The size of the memory for temporary arrays, once all is settled."""
        return self.memory.arena_bytes + _APART * len(self._apart)

    def steps_of(self, computation: Computation) -> tuple[Step, ...]:
        """The steps of a computation before buffers are assigned: pointers are names."""
        if computation not in self._steps:
            self._steps[computation] = self.write(self, computation)
        return self._steps[computation]

    def repeated_steps_of(self, computation: Computation) -> tuple[Step, ...]:
        """The steps of a computation that runs again and again."""
        before, self.repeats = self.repeats, True
        steps = self.steps_of(computation)
        self.repeats = before
        return steps

    def resolved(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        """Steps whose pointers are slices of buffers, once these are assigned."""
        return tuple(self._resolved(step) for step in steps)

    def _resolved(self, step: Step) -> Step:
        match step:
            case Launch():
                return self._resolved_launch(step)
            case LibraryCall() | HostCall():
                return replace(step, arguments=tuple(map(self._slice, step.arguments)))
            case CollectiveStep():
                folds = [(n, tuple(map(self._resolved_launch, fold))) for n, fold in step.folds]
                arguments = tuple(map(self._slice, step.arguments))
                return replace(step, arguments=arguments, folds=tuple(folds))
            case Copy(target, source):
                return replace(step, target=self._slice(target), source=self._slice(source))
            case While(condition, predicate, body, trips):
                read_from = self._slice(predicate)
                return While(self.resolved(condition), read_from, self.resolved(body), trips)
            case Branch(number, _, branches):
                lists = tuple(map(self.resolved, branches))
                return replace(step, number=self._slice(number), branches=lists)

    def _resolved_launch(self, launch: Launch) -> Launch:
        return replace(launch, arguments=tuple(map(self._slice, launch.arguments)))

    def _slice(self, pointer: BufferSlice | str) -> BufferSlice:
        if isinstance(pointer, BufferSlice):
            return pointer
        if pointer in self.constants.arrays:
            number = list(self.constants.arrays).index(pointer)
            return BufferSlice(
                "constant", number, 0, self.constants.arrays[pointer].nbytes, pointer
            )
        home, offset = self.declared[pointer]
        piece = self.memory.slices[home]
        allocation, begin, size = piece.allocation, piece.offset + offset, piece.size - offset
        if allocation.output is not None:
            return BufferSlice("result", allocation.output, begin, size, pointer)
        if allocation.parameter is not None:
            return BufferSlice("argument", allocation.parameter, begin, size, pointer)
        if home in self._apart:
            at = self.memory.arena_bytes + _APART * self._apart.index(home)
            return BufferSlice("arena", 0, at + offset, size, pointer)
        return BufferSlice("arena", 0, begin, size, pointer)
