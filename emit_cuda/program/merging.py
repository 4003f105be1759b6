"""Loops and branches as one kernel, where all that is inside of them are small launches.

    while (p) { a<<<...>>>; b<<<...>>>; }   =>   one block: for (;;) { p?  a; barrier; b; barrier; }
    if (p) a<<<...>>>; else b<<<...>>>;     =>   a grid for the larger one: if (p) a; else b;

The host then neither reads a predicate nor waits. A launch in which threads need no others is done
by the threads of the one block in turns; one with barriers must have such a block itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from codegen.elements.kernel import Argument
from codegen.expressions import Cast, Expr, Literal, Load, Name, binary
from codegen.kinds import Pointer, element_of, is_const
from codegen.statements import (
    Assign,
    Break,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Statement,
    nested,
    renamed,
    rewritten,
)
from codegen.walk import substitute
from emit_cuda.code.names import CudaNames
from emit_cuda.kernels.kernel import POLL
from emit_cuda.kernels.stages import (
    BARRIER,
    BLOCK,
    MOST_IN_TURNS,
    SHARED_BYTES,
    WARP,
    Stage,
    thread_number,
)
from emit_cuda.program.steps import Branch, Copy, Launch, While, flat
from hlo.types.element_type import ELEMENT_TYPES
from hlo.write.print import Options, print_instruction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from emit_cuda.kernels.file import KernelFile, Written
    from emit_cuda.program.steps import Step
    from hlo.instruction import Instruction

# Of the one block.
MOST_IN_BLOCK = 512
# Launches and copies that a kernel does in their place.
MOST_STEPS = 32
_SHORT = Options(print_metadata=False, print_backend_config=False, print_large_constants=False)


class _NotMergedError(Exception):
    """Something inside can't be a part of a kernel."""


def merged(file: KernelFile, instr: Instruction, step: While | Branch) -> Launch | None:
    """A launch that carries out a loop or a branch; None where it must be the host's.

    Parameters
    ----------
    step : before buffers are assigned.
    """
    inside = list(flat([step]))
    if len(inside) > MOST_STEPS:
        return None
    try:
        return _in_one_block(file, instr, step, inside)
    except _NotMergedError:
        pass
    try:
        return _on_a_grid(file, instr, step)
    except _NotMergedError:
        return None


def _in_one_block(
    file: KernelFile, instr: Instruction, step: While | Branch, inside: Sequence[Step]
) -> Launch:
    """A launch of one block."""
    waiting, threads = set[int](), [1]
    for each in inside:
        count, block = _size(file, each)
        threads.append(count)
        if block:
            waiting.add(block)
        if count > (block or MOST_IN_TURNS):
            raise _NotMergedError
    if len(waiting) > 1:
        raise _NotMergedError
    block = min(-(-max(threads) // WARP) * WARP, MOST_IN_BLOCK)
    merging = _Merging(file, waiting.pop() if waiting else block, inside)
    return merging.launch(instr, (1, 1, 1), tuple(merging.step(step)), "one block")


def _on_a_grid(file: KernelFile, instr: Instruction, step: While | Branch) -> Launch:
    """A launch of a grid, which does one of several launches."""
    if not isinstance(step, Branch) or any(len(branch) > 1 for branch in step.branches):
        raise _NotMergedError
    sizes = [_size(file, each) for branch in step.branches for each in branch]
    blocks = {block for _, block in sizes if block}
    if len(blocks) > 1:
        raise _NotMergedError
    block = blocks.pop() if blocks else BLOCK
    merging = _Merging(file, block, list(flat([step])), is_grid=True)
    grid = max((-(-count // block) for count, _ in sizes), default=1)
    return merging.launch(instr, (grid, 1, 1), tuple(merging.branch(step)), "branch")


def _size(file: KernelFile, step: Step) -> tuple[int, int]:
    """The threads of a launch, and the block size that it asks for; 0 if any will do."""
    match step:
        case Copy(_, _, size):
            return size // _word(size), 0
        case Launch(kernel, grid, block):
            count, stage = prod(grid) * prod(block), file.written[kernel].stage
            if not stage.waits:
                return count, 0
            if stage.extern_bytes:
                raise _NotMergedError
            if grid[1:] != (1, 1) or block[1:] != (1, 1):
                raise _NotMergedError
            return count, block[0]
        case _:
            raise _NotMergedError


def _word(size: int) -> int:
    """Bytes that are copied at once: arrays of such sizes begin at multiples of them."""
    return 4 if size % 4 == 0 else 1


@dataclass
class _Merging:
    """A kernel in the making, of others.

    Parameters
    ----------
    inside : all launches and copies in it.
    is_grid : each thread of a grid does its part; else a block does all parts in turns.
    """

    file: KernelFile
    block: int
    inside: Sequence[Step]
    is_grid: bool = False
    names: CudaNames = field(default_factory=CudaNames)
    given: dict[str, Argument] = field(default_factory=dict[str, Argument])
    shared: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    aligned: int = 0
    about: dict[str, None] = field(default_factory=dict[str, None])
    used: dict[str, None] = field(default_factory=dict[str, None])

    def __post_init__(self) -> None:
        """Let no parameter have the name of a variable."""
        self.used = dict.fromkeys(s.kernel for s in self.inside if isinstance(s, Launch))
        for kernel in self.used:
            for each in nested(self.file.written[kernel].statements):
                if isinstance(each, Let | LocalVariable | For):
                    self.names.unique(each.name)

    def launch(
        self, instr: Instruction, grid: tuple[int, int, int], body: Sequence[Statement], kind: str
    ) -> Launch:
        """Add the kernel to the file; gives a launch of it."""
        bytes_of = sum(ELEMENT_TYPES[kind].bytes * size for kind, _, size in self.shared)
        if bytes_of > SHARED_BYTES:
            raise _NotMergedError
        of, shared = (self.block, 1, 1), tuple(self.shared)
        stage = Stage(tuple(body), grid, of, shared, kind=kind, aligned=self.aligned)
        about = "\n".join([*self.about, print_instruction(instr, _SHORT)])
        parameters = list(self.given.values())
        name = self.file.add_merged(parameters, instr.name, about, stage, self.used)
        writes = tuple(not is_const(argument.kind) for argument in parameters)
        at = tuple(self.given)
        return Launch(name, stage.grid, stage.block, at, writes, instr.name, kind)

    def steps(self, steps: Sequence[Step]) -> Iterator[Statement]:
        """Statements for steps, each of which ends before the next one begins."""
        for step in steps:
            yield from self.step(step)

    def step(self, step: Step) -> Iterator[Statement]:
        """Statements for a step, and a barrier."""
        match step:
            case While():
                yield self._loop(step)
            case Branch():
                yield from self.branch(step)
            case _:
                yield from self._part(step)
                yield BARRIER

    def _loop(self, loop: While) -> Statement:
        body = tuple(self.steps(loop.body))
        if loop.trips is not None:
            return For(self.names.unique("trip"), loop.trips, body)
        condition, go = tuple(self.steps(loop.condition)), self.names.unique("goes_on")
        predicate = Load(self._pointer(str(loop.predicate), "pred"), Literal(0))
        # All threads have read it before one may write there.
        check = (Let("pred", go, predicate), BARRIER, Break(binary("==", Name(go), 0)))
        return Forever((POLL, *condition, *check, *body))

    def branch(self, branch: Branch) -> Iterator[Statement]:
        """A choice between the statements of branches."""
        kind = "pred" if branch.of_pred else "s32"
        name, last = self.names.unique("branch"), len(branch.branches) - 1
        yield Let(kind, name, Load(self._pointer(str(branch.number), kind), Literal(0)))
        if not self.is_grid:
            yield BARRIER
        chain: tuple[Statement, ...] = ()
        for number, steps in reversed(list(enumerate(branch.branches))):
            inside = self._part(steps[0]) if self.is_grid and steps else self.steps(steps)
            chosen = int(number == 0) if branch.of_pred else number
            then = tuple(inside)
            chain = then if number == last else (If(binary("==", Name(name), chosen), then, chain),)
        yield from chain

    def _part(self, step: Step) -> Iterator[Statement]:
        """The statements of a launch or a copy."""
        if isinstance(step, Copy):
            kind, width = ("u32", 4) if _word(step.size) == 4 else ("u8", 1)
            slot = Name(self.names.unique("word"))
            target = self._pointer(str(step.target), writes=True)
            source = self._pointer(str(step.source))
            to = Load(Cast(Pointer(kind), target), slot)
            value = Load(Cast(Pointer(kind, const=True), source), slot)
            yield self._each(slot.name, step.size // width, (Assign(to, value),))
            return
        assert isinstance(step, Launch)
        written = self.file.written[step.kernel]
        self.about |= dict.fromkeys(self.file.about[step.kernel].splitlines())
        values = self._arguments(step, written)
        if written.stage.waits:
            body = tuple(renamed(s, values) for s in written.statements)
            # Where there is one block, it is a scope for the variables.
            yield If(binary("<", Name("blockIdx.x"), step.grid[0]), body)
            return
        slot = Name(self.names.unique("slot"))
        block = step.block[0]
        numbers = {kind: thread_number(block, kind) for kind in ("s64", "u32", "s32")}
        values |= {"blockIdx.x": slot / block, "threadIdx.x": slot % block}

        def change(expr: Expr) -> Expr:
            kind = next((k for k, number in numbers.items() if number == expr), None)
            return substitute(expr, values) if kind is None else Cast(kind, slot)

        statements = tuple(rewritten(s, change) for s in written.statements)
        yield self._each(slot.name, prod(step.grid) * block, statements)

    def _each(self, slot: str, count: int, body: tuple[Statement, ...]) -> Statement:
        """Something for each number below a count: of a thread, or of all turns of a block's."""
        if self.is_grid:
            number = Let("s64", slot, thread_number(self.block))
            return If(binary("<", thread_number(self.block), count), (number, *body))
        return For(slot, count, body, start=Name("threadIdx.x"), step=self.block)

    def _arguments(self, step: Launch, written: Written) -> dict[str, Expr]:
        """The names of a kernel's parameters and shared arrays here."""
        values: dict[str, Expr] = {}
        for pointer, argument in zip(step.arguments, written.arguments, strict=True):
            kind, writes = element_of(argument.kind), not is_const(argument.kind)
            if not isinstance(kind, str):
                raise _NotMergedError
            values[argument.name] = self._pointer(str(pointer), kind, writes=writes)
        self.aligned = max(self.aligned, written.stage.aligned)
        for kind, name, size in written.stage.shared:
            own = self.names.unique(name)
            self.shared.append((kind, own, size))
            values[name] = Name(own)
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
