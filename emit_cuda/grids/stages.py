"""The stages of a kernel on a GPU: launches, one after the other, and copies between them.

A loop whose iterations do not depend on each other becomes a grid: each iteration has a thread.
Other statements beside such loops are run by one thread, in a launch of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.expressions import BLOCK_X, THREAD_X, Cast, Expr, Literal, Name, Op, binary, indexed
from codegen.kinds import Pointer
from codegen.schedule.accesses import bounds_of
from codegen.statements import (
    Assign,
    Call,
    For,
    If,
    Let,
    LocalVariable,
    Statement,
    base,
    names_in,
    nested,
)
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import counter, delinear

if TYPE_CHECKING:
    from collections.abc import Collection
    from contextlib import AbstractContextManager

    from codegen.elements.body import Body
    from codegen.program.steps import Dim3

# Threads of a warp, and of blocks: where threads have nothing in common, where they share arrays,
# and where one block is to do as much as it can.
WARP, BLOCK, SHARED_BLOCK, LARGE_BLOCK = 32, 128, 256, 512
BARRIER = Call(FUNCTIONS["__syncthreads"], ())
# With this, loops that may never end let the processor stop them; a GPU does not listen.
POLL = Call(FUNCTIONS["poll_for_stop"], ())
# The mask of the lanes that take part in a shuffle.
ALL_LANES = Literal(0xFFFFFFFF, "u32", hexadecimal=True)
# Of all blocks of a cooperative launch, with a counter of those that are there.
GRID_COUNTER = "blocks_here"
GRID_BARRIER = Call(FUNCTIONS["grid_barrier"], (Op("&", (Name(GRID_COUNTER),)),))
# Arrays in the memory that a block's threads share: type, name, elements.
Shared = tuple[tuple[str, str, int], ...]
# Threads of a launch that one block does in turns, inside of a loop: a grid is faster with more of
# them, even where the host issues it.
MOST_IN_TURNS = 2048
# Bytes of shared memory that every GPU gives a block, which need not say so as it is launched.
SHARED_BYTES = 48 << 10
# Bytes that all threads of a launch may need for themselves.
MOST_OWN = 1 << 26
# The work of one thread, which can't be divided, or is not worth it.
ALONE = "one thread"
PARALLEL = "parallel loops"
_COPIES = {BUILTINS["memcpy"], FUNCTIONS["copy_many"]}


@dataclass(frozen=True, slots=True)
class Stage:
    """One launch.

    Attributes
    ----------
    kind : of kernel, as in the table of `docs/cuda.md`.
    own_bytes : memory that all threads together need for themselves.
    waits : threads of a block may wait for each other.
    aligned : bytes at multiples of which shared arrays begin, where more is required than by their
        elements; else 0.
    resident : blocks that are to run on a multiprocessor at once, so many registers may each take.
    cooperative : its blocks wait for each other.
    on_tensor_cores : they do most of its operations.
    """

    statements: tuple[Statement, ...]
    grid: Dim3
    block: Dim3
    shared: Shared = ()
    own_bytes: int = 0
    kind: str = "loop"
    waits: bool = True
    aligned: int = 0
    resident: int = 1
    cooperative: bool = False
    on_tensor_cores: bool = False

    @property
    def extern_bytes(self) -> int:
        """Bytes of shared memory for which the launch asks, as there are more than always."""
        size = sum(ELEMENT_TYPES[kind].bytes * count for kind, _, count in self.shared)
        return size if size > SHARED_BYTES else 0


@dataclass(frozen=True, slots=True)
class CopyStage:
    """A copy of bytes in the device's memory."""

    target: str
    source: str
    size: int


Launches = Sequence[Stage | CopyStage]


def alone(statements: Sequence[Statement], own_bytes: int = 0) -> Stage:
    """A launch of one thread."""
    own = (LocalVariable(Pointer("u8"), "own", Name("own_memory")),) if own_bytes else ()
    return Stage((*own, *statements), (1, 1, 1), (1, 1, 1), (), own_bytes, ALONE, waits=False)


def thread_number(block: int, kind: str = "s64") -> Expr:
    """The number of a thread in a grid of one dimension."""
    first = Cast(kind, BLOCK_X) * block
    return first + Cast(kind, THREAD_X)


def in_turns(body: Body, name: str, stop: int | Expr, threads: int) -> AbstractContextManager[Name]:
    """A loop over the numbers below a bound, each of which one of a block's threads takes."""
    return body.loop(name, stop, start=THREAD_X, step=threads)


def block_for(threads: int) -> int:
    """The block size for so many threads."""
    return min(BLOCK, -(-threads // WARP) * WARP)


def each_thread(name: str, count: int, body: Sequence[Statement], kind: str = "loop") -> Stage:
    """A launch of a thread for each number below a count; the threads do not wait for others."""
    block = block_for(count)
    guarded: tuple[Statement, ...] = tuple(body)
    if count % block:
        guarded = (If(binary("<", Name(name), count), guarded),)
    number = Let("s64", name, thread_number(block))
    grid = -(-count // block), 1, 1
    return Stage((number, *guarded), grid, (block, 1, 1), kind=kind, waits=False)


def stages(statements: Sequence[Statement], own_bytes: int, arrays: Collection[str]) -> Launches:
    """The launches that carry out statements.

    Parameters
    ----------
    own_bytes : memory that each iteration of a parallel loop needs for itself.
    arrays : the names of the arrays that the kernel is given.
    """
    declared = {s.name for s in statements if isinstance(s, LocalVariable)}
    changed = {base(s.target) for s in nested(statements) if isinstance(s, Assign)}
    passed = {n for s in nested(statements) if isinstance(s, Call) for n in names_in([s])}
    if declared & (changed | passed):
        return [alone(statements, own_bytes)]
    launches: list[Stage | CopyStage] = []
    values: list[Let | LocalVariable] = []
    waiting: list[Statement] = []

    def close() -> None:
        if waiting:
            launches.append(alone([*needed(values, waiting), *waiting], own_bytes))
            waiting.clear()

    for statement in statements:
        if isinstance(statement, Let | LocalVariable):
            values.append(statement)
            continue
        copy = _copy(statement, arrays)
        grid = _grid(statement, values, own_bytes)
        if copy or grid:
            close()
            launches += [stage for stage in (copy, grid) if stage]
        else:
            waiting.append(statement)
    close()
    return launches


def needed(
    values: Sequence[Let | LocalVariable], statements: Sequence[Statement]
) -> list[Statement]:
    """The values that statements read, directly or through others."""
    read, lets = set(names_in(statements)), list[Statement]()
    for value in reversed(values):
        if value.name in read:
            lets.append(value)
            read.update(names_in([value]))
    return lets[::-1]


def _copy(statement: Statement, arrays: Collection[str]) -> CopyStage | None:
    """A copy of whole arrays."""
    match statement:
        case Call(function, (Name(target), Name(source), Literal(size))) if function in _COPIES:
            both_arrays = target in arrays and source in arrays
            return CopyStage(target, source, int(size)) if both_arrays else None
        case _:
            return None


def _grid(
    statement: Statement, values: Sequence[Let | LocalVariable], own_bytes: int
) -> Stage | None:
    """A launch of a thread for each iteration of a parallel loop; None for other statements."""
    if isinstance(statement, If) and len(statement.then) == 1 and not statement.otherwise:
        inside = _grid(statement.then[0], (), own_bytes)
        if inside is None:
            return None
        checked = (replace(statement, then=inside.statements),)
        return replace(inside, statements=(*needed(values, checked), *checked))
    total, iteration = iterations(statement)
    if not total:
        return None
    if not own_bytes:
        stage = each_thread("iteration", total, iteration, PARALLEL)
        return replace(stage, statements=(*needed(values, stage.statements), *stage.statements))
    threads = max(1, min(total, MOST_OWN // own_bytes))
    block = block_for(threads)
    blocks = -(-threads // block)
    loop = For("iteration", total, iteration, start=Name("thread"), step=blocks * block)
    stage = (
        Let("s64", "thread", thread_number(block)),
        LocalVariable(Pointer("u8"), "own", Name("own_memory") + Name("thread") * own_bytes),
        *needed(values, [loop]),
        loop,
    )
    size = blocks * block * own_bytes
    grid, of = (blocks, 1, 1), (block, 1, 1)
    return Stage(stage, grid, of, own_bytes=size, kind=PARALLEL, waits=False)


def iterations(statement: Statement) -> tuple[int, tuple[Statement, ...]]:
    """The number of iterations of nested parallel loops, and the statements of number `iteration`.

    Of other statements the number is 0.
    """
    names, bounds = list[str](), list[range]()
    body: tuple[Statement, ...] = (statement,)
    while len(body) == 1 and isinstance(loop := body[0], For) and loop.parallel:
        numbers = bounds_of(loop)
        if numbers is None:
            break
        names.append(loop.name)
        bounds.append(numbers)
        body = loop.body
    counts = list(map(len, bounds))
    total = prod(counts) if bounds else 0
    index = delinear(counter("iteration", total), counts) if total else ()
    counters = [
        Let("s64", name, indexed(number * numbers.step + numbers.start))
        for name, number, numbers in zip(names, index, bounds, strict=False)
    ]
    return total, (*counters, *body)
