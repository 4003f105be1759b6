"""Loops and branches as one kernel, where all that is inside of them are short launches.

    while (p) { a<<<...>>>; b<<<...>>>; }   =>   for (;;) { p?  a; barrier; b; barrier; }

The host then neither reads a predicate nor waits. Small launches are done by one block, whose
threads take turns at a launch in which threads need no others; one with barriers must have such a
block itself. Larger launches are done by the blocks of a grid, which take turns at the blocks of
each launch. They are all there at once, and wait for each other: a *cooperative* launch. Of a
branch between single launches no block needs others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from codegen.callees import FUNCTIONS
from codegen.elements.kernel import Argument
from codegen.expressions import (
    BLOCK_X,
    GRID_X,
    THREAD_X,
    THREAD_Y,
    THREAD_Z,
    Cast,
    Expr,
    Level,
    Literal,
    Load,
    Name,
    binary,
)
from codegen.kinds import Pointer, element_of, is_const
from codegen.program.about import hlo_line
from codegen.program.barriers import Barriers
from codegen.program.steps import Branch, Copy, Launch, While, flat
from codegen.statements import (
    Assign,
    Break,
    Call,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Statement,
    nested,
    replaced,
)
from emit_cuda.code.names import CudaNames
from emit_cuda.grids.stages import (
    BARRIER,
    BLOCK,
    GRID_BARRIER,
    LARGE_BLOCK,
    MOST_IN_TURNS,
    POLL,
    SHARED_BLOCK,
    SHARED_BYTES,
    WARP,
    Stage,
    thread_number,
)
from emit_cuda.grids.tile_sizes import MULTIPROCESSORS
from emit_cuda.kernels.parts import (
    BARRIERS,
    NotMergedError,
    called_by,
    moved,
    needs_block,
    size_in,
    word_of,
)
from emit_cuda.kernels.places import Places, places
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.file_text import HloLine
    from codegen.program.barriers import Overlaps
    from codegen.program.steps import Step
    from emit_cuda.kernels.file import KernelFile, Written
    from hlo.instruction import Instruction

# The blocks of a grid that wait for each other, and the turns that each takes at a launch. With
# more of them, the blocks of a launch of its own are done earlier, as there are more at once.
MOST_BLOCKS, MOST_TURNS = 2 * MULTIPROCESSORS, 4
# Threads of a launch that the first block of a grid does alone, if that spares barriers.
MOST_ALONE = MOST_IN_TURNS
# Numbers of threads below this are counted in 32 bits.
NARROW = 1 << 30
# A guard against long compilations: launches and copies that a kernel does in their place.
MOST_STEPS = 32


def merged(
    file: KernelFile, instr: Instruction, step: While | Branch, overlaps: Overlaps
) -> Launch | None:
    """A launch that carries out a loop or a branch; None where it must be the host's.

    Parameters
    ----------
    step : before buffers are assigned.
    overlaps : whether two pointers in it may lead to the same bytes.
    """
    inside = list(flat([step]))
    if len(inside) > MOST_STEPS:
        return None
    try:
        sizes = [size_in(file, step) for step in inside]
        waiting = max(block for _, block in [(0, 0), *sizes])
        threads = max((count for count, _ in sizes), default=1)
        in_turns = all(count <= (block or MOST_IN_TURNS) for count, block in sizes)
        is_choice = isinstance(step, Branch) and all(len(branch) < 2 for branch in step.branches)
        usual = BLOCK if is_choice else SHARED_BLOCK
        if in_turns:
            usual = min(-(-threads // WARP) * WARP, LARGE_BLOCK)
        block = waiting or usual
        # Of a launch with smaller blocks, some threads of each block do nothing.
        blocks = 1 if in_turns else max(-(-count // (size or block)) for count, size in sizes)
        if not (is_choice or in_turns) and blocks > MOST_TURNS * MOST_BLOCKS:
            return None
        grid = blocks if is_choice else min(blocks, MOST_BLOCKS)
        merging = _Merging(file, block, inside, overlaps, is_grid=not in_turns)
        kind = "one block" if in_turns else "branch" if is_choice else "one grid"
        return merging.launch(instr, (grid, 1, 1), step, kind)
    except NotMergedError:
        return None


@dataclass
class _Merging:
    """A kernel in the making, of others.

    Parameters
    ----------
    inside : all launches and copies in it.
    is_grid : the blocks of a grid do each part in turns; else the threads of one block.

    Attributes
    ----------
    most_alone : threads of a launch that the first block does alone, without waiting for others.
    """

    file: KernelFile
    block: int
    inside: Sequence[Step]
    overlaps: Overlaps
    is_grid: bool
    names: CudaNames = field(default_factory=CudaNames)
    given: dict[str, Argument] = field(default_factory=dict[str, Argument])
    shared_bytes: int = 0
    aligned: int = 16
    most_alone: int = 0
    about: dict[HloLine, None] = field(default_factory=dict["HloLine", None])
    used: dict[str, None] = field(default_factory=dict[str, None])
    barriers: dict[int, bool] = field(default_factory=dict[int, bool])
    places: dict[tuple[str, Step], Places | None] = field(
        default_factory=dict["tuple[str, Step]", "Places | None"]
    )

    def __post_init__(self) -> None:
        """Let no parameter have the name of a variable, and find where to wait."""
        self.used = dict.fromkeys(s.kernel for s in self.inside if isinstance(s, Launch))
        for kernel in self.used:
            for statement in nested(self.file.written[kernel].statements):
                if isinstance(statement, Let | LocalVariable | For):
                    self.names.unique(statement.name)

    def launch(
        self, instr: Instruction, grid: tuple[int, int, int], step: While | Branch, kind: str
    ) -> Launch:
        """Add the kernel to the file; gives a launch of it."""
        self._place_barriers(step)
        body = tuple(self.step(step))
        cooperative = any(statement == GRID_BARRIER for statement in nested(body))
        if self.shared_bytes > SHARED_BYTES:
            raise NotMergedError
        of = (self.block, 1, 1)
        shared = (("u8", "shared_memory", self.shared_bytes),) if self.shared_bytes else ()
        aligned = self.aligned if shared else 0
        stage = Stage(body, grid, of, shared, kind=kind, aligned=aligned, cooperative=cooperative)
        about = (*self.about, hlo_line(instr))
        parameters = list(self.given.values())
        name = self.file.add_merged(parameters, instr.name, about, stage, self.used)
        writes = tuple(not is_const(argument.kind) for argument in parameters)
        at = tuple(self.given)
        details = instr.name, kind, 0, cooperative
        return Launch(name, stage.grid, stage.block, at, writes, *details)

    def _place_barriers(self, step: While | Branch) -> None:
        """Find where to wait, with fewest barriers of the grid.

        The first block takes turns at small launches if that spares some; else the grid does them.
        """
        plans: list[tuple[int, int, Barriers]] = []
        for most in (self.block, MOST_ALONE):
            self.most_alone = most
            plan = Barriers(self.overlaps, self._own, self._alone)
            plan.after([step], frozenset())
            plans.append((sum(plan.before.values()), most, plan))
        _, self.most_alone, plan = min(plans, key=lambda plan: plan[:2])
        self.barriers = plan.before

    def _alone(self, step: Step | None) -> bool:
        """Whether the first block alone does a step; all blocks read predicates."""
        if not self.is_grid or step is None:
            return not self.is_grid
        is_grid = isinstance(step, Launch) and step.cooperative
        count, block = size_in(self.file, step)
        return not is_grid and count <= (block or self.most_alone)

    def _own(self, pointer: str, *steps: Step) -> bool:
        """Whether each element of an array is used by the same thread in two steps."""
        # A launch that fills no block has the same threads in turns of one block and of the grid.
        large = [step for step in steps if size_in(self.file, step)[0] > self.block]
        if len({self._alone(step) for step in large}) > 1:
            return False
        one, other = (self._places(pointer, step) for step in steps)
        return bool(one and other and one.each_of_one_thread(other))

    def _places(self, pointer: str, step: Step) -> Places | None:
        """The elements of an array by the numbers of threads that take turns, where they do."""
        if (pointer, step) in self.places:
            return self.places[pointer, step]
        counted = None
        match step:
            case Copy(_, _, size):
                words = np.arange(size // word_of(size))
                counted = Places(words, words, word_of(size))
            case Launch(kernel, grid, block, arguments):
                written = self.file.written[kernel]
                pairs = zip(arguments, written.arguments, strict=True)
                names = {argument.name for step, argument in pairs if str(step) == pointer}
                if not needs_block(written):
                    counted = places(written, grid, block, names)
            case _:
                pass
        self.places[pointer, step] = counted
        return counted

    def steps(self, steps: Sequence[Step]) -> Iterator[Statement]:
        """Statements for steps."""
        for step in steps:
            yield from self.step(step)

    def step(self, step: Step) -> Iterator[Statement]:
        """Statements for a step, which begins when those that it needs have ended."""
        match step:
            case While():
                yield self._loop(step)
            case Branch():
                yield from self._before(step)
                yield from self._branch(step)
            case _:
                yield from self._before(step)
                yield from self._part(step)

    def _before(self, step: Step) -> Iterator[Statement]:
        if id(step) in self.barriers:
            yield GRID_BARRIER if self.barriers[id(step)] else BARRIER

    def _loop(self, loop: While) -> Statement:
        body = tuple(self.steps(loop.body))
        if loop.trips is not None:
            return For(self.names.unique("trip"), loop.trips, body)
        condition, go = tuple(self.steps(loop.condition)), self.names.unique("goes_on")
        predicate = Load(self._pointer(str(loop.predicate), "pred"), Literal(0))
        check = (Let("pred", go, predicate), Break(binary("==", Name(go), 0)))
        return Forever((POLL, *condition, *self._before(loop), *check, *body))

    def _branch(self, branch: Branch) -> Iterator[Statement]:
        """A choice between the statements of branches."""
        kind = "pred" if branch.of_pred else "s32"
        name, last = self.names.unique("branch"), len(branch.branches) - 1
        yield Let(kind, name, Load(self._pointer(str(branch.number), kind), Literal(0)))
        chain: tuple[Statement, ...] = ()
        for number, steps in reversed(list(enumerate(branch.branches))):
            chosen = int(number == 0) if branch.of_pred else number
            then = tuple(self.steps(steps))
            chain = then if number == last else (If(binary("==", Name(name), chosen), then, chain),)
        yield from chain

    def _part(self, step: Step) -> Iterator[Statement]:
        """The statements of a launch or a copy."""
        if isinstance(step, Copy):
            kind, width = ("u32", 4) if word_of(step.size) == 4 else ("u8", 1)
            slot = Name(self.names.unique("word"))
            target = self._pointer(str(step.target), writes=True)
            source = self._pointer(str(step.source))
            to = Load(Cast(Pointer(kind), target), slot)
            value = Load(Cast(Pointer(kind, const=True), source), slot)
            yield self._each(slot.name, step.size // width, (Assign(to, value),))
            return
        assert isinstance(step, Launch)
        written = self.file.written[step.kernel]
        self.about |= dict.fromkeys(self.file.about[step.kernel])
        values = self._arguments(step, written)
        if written.stage.cooperative:
            # All blocks do it; once, which is a scope for the variables.
            shared = tuple(self._shared(written.stage, values))
            body = (*shared, *moved(written.statements, values, {}))
            yield For(self.names.unique("once"), 1, body)
            yield from (BARRIER,) if shared else ()
            return
        if needs_block(written):
            yield from self._each_block(step, written, values)
            return
        if written.stage.waits and self.block % WARP:
            raise NotMergedError
        slot, block = Name(self.names.unique("slot")), step.block[0]
        numbers = {thread_number(block, k): Cast(k, slot) for k in ("s64", "u32", "s32")}
        places = {BLOCK_X: slot / block, THREAD_X: slot % block, GRID_X: Literal(step.grid[0])}
        statements = moved(written.statements, values, {**places, **numbers})
        yield self._each(slot.name, prod(step.grid) * block, statements)

    def _each_block(
        self, step: Launch, written: Written, values: dict[str, Expr]
    ) -> Iterator[Statement]:
        """The blocks of a launch whose threads may wait for each other."""
        tile, (x, y, z) = self.names.unique("block"), step.block
        places: dict[Expr, Expr] = {BLOCK_X: Name(tile), GRID_X: Literal(step.grid[0])}
        if y > 1 or z > 1:
            row = THREAD_X / x
            of_row = {THREAD_Y: row % y, THREAD_Z: row / y} if z > 1 else {THREAD_Y: row}
            places |= {THREAD_X: THREAD_X % x, **of_row}
        shared = tuple(self._shared(written.stage, values))
        body = (*shared, *moved(written.statements, values, places))
        # All have read the shared arrays before one writes others there.
        after = (BARRIER,) if shared else ()
        turn = GRID_X if self.is_grid else 1
        turns = For(tile, step.grid[0], (*body, *after), BLOCK_X, turn, kind="s32")
        threads = prod(step.block)
        if threads == self.block:
            yield turns
            return
        _, called = called_by(written)
        if not BARRIERS.isdisjoint(called) or Level.THREADS.value in called or threads % WARP:
            # These functions wait for the whole block; and a part of one has whole warps.
            raise NotMergedError
        barrier = Call(FUNCTIONS["barrier_of_first"], (Literal(threads),))
        (turns,) = replaced([turns], lambda statement: [barrier] if statement == BARRIER else None)
        yield If(binary("<", THREAD_X, threads), (turns,))
        yield from after

    def _shared(self, stage: Stage, values: dict[str, Expr]) -> Iterator[Statement]:
        """The shared arrays of a launch, which lie where those of other launches do."""
        end, self.aligned = 0, max(self.aligned, stage.aligned)
        for kind, name, size in stage.shared:
            own, begin = self.names.unique(name), -(-end // self.aligned) * self.aligned
            values[name] = Name(own)
            memory: Expr = Name("shared_memory")
            memory = Cast(Pointer(kind), memory + begin if begin else memory)
            yield LocalVariable(Pointer(kind), own, memory)
            end = begin + ELEMENT_TYPES[kind].bytes * size
        self.shared_bytes = max(self.shared_bytes, end)

    def _each(self, slot: str, count: int, body: tuple[Statement, ...]) -> Statement:
        """Something for each number below a count, by the threads of all blocks in turns."""
        kind = "s32" if count < NARROW else "s64"
        if not self.is_grid or self.block < count <= self.most_alone:
            turns = For(slot, count, body, THREAD_X, self.block, kind=kind)
            first = binary("==", BLOCK_X, 0)
            return If(first, (turns,)) if self.is_grid else turns
        start, step = thread_number(self.block, kind), Cast(kind, GRID_X) * self.block
        return For(slot, count, body, start, step, kind=kind)

    def _arguments(self, step: Launch, written: Written) -> dict[str, Expr]:
        """The names of a kernel's parameters and shared arrays here."""
        values: dict[str, Expr] = {}
        for pointer, argument in zip(step.arguments, written.arguments, strict=True):
            kind, writes = element_of(argument.kind), not is_const(argument.kind)
            if not isinstance(kind, str):
                raise NotMergedError
            values[argument.name] = self._pointer(str(pointer), kind, writes=writes)
        return values

    def _pointer(self, pointer: str, kind: str = "", *, writes: bool = False) -> Name:
        """The parameter for an array; a copy does not tell the type of its elements."""
        parameter = self.given.get(pointer)
        name = parameter.name if parameter else self.names.unique(pointer)
        const = not writes and (parameter is None or is_const(parameter.kind))
        to = kind or (element_of(parameter.kind) if parameter else "u8")
        assert isinstance(to, str), to
        self.given[pointer] = Argument(Pointer(to, const=const), name, pointer)
        return Name(name)
