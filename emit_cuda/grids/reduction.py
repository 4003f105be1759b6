"""Schedules of reductions: of rows, of several short rows, and of columns.

A reduction begins as the loops that one would write by hand (`fold_nests`). Neighbours of a row lie
side by side in memory, so they are dealt to neighbouring threads: a group of threads folds a row,
each a part of it, and then they meet (`folding`). Of a column the neighbours lie apart, but those
of neighbouring columns side by side: blocks fold tiles of columns (`column_tiles`). Of a few
columns, most threads of such a tile would have none: there, each thread folds all of them.

Where that would be few blocks for many elements, as for the sum of a whole array, there are two
launches: each block folds a part, and leaves its result to the second one. So results do not
depend on which block is first, as they would if all added to one element.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/reduction.cc`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from codegen.elements.folds import all_joined
from codegen.expressions import BLOCK_X, THREAD_X, Name, indexed, item
from codegen.schedule.coalesce import coalesce
from codegen.schedule.divide import divide
from codegen.schedule.obligations import Staged, StagedElement, granted
from codegen.schedule.order import bind
from codegen.schedule.rfactor import begun, deal, in_part, neutral_elements
from codegen.schedule.strip_mine import strip_mine
from codegen.schedule.trace import applied, attempt
from codegen.statements import Assign, For, Let
from emit_cuda.grids.bound import bound_stage
from emit_cuda.grids.column_tiles import ColumnTiles
from emit_cuda.grids.fold_nests import FoldNest, fold_nest, trips
from emit_cuda.grids.folding import wrapped
from emit_cuda.grids.groups import STEP, FoldParts, on_groups, threads_for
from emit_cuda.grids.stages import WARP
from emit_cuda.loops import vectors
from emit_cuda.loops.packs import packed
from hlo import attributes as a
from optimizer.analysis.indexing import counter
from optimizer.fusion.policy import SIDE_BY_SIDE
from optimizer.fusion.rows import LEAST_ROW

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.expressions import Expr
    from codegen.statements import Statement
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Sum

# Shorter rows and columns are folded by one thread each.
LEAST_COLUMN = 64


def reduction_stages(
    kernel: CudaKernel,
    instr: Instruction,
    outputs: Sequence[Name],
    others: Sequence[Instruction] = (),
) -> Sequence[Stage] | None:
    """Launches whose threads share the folds of a reduce; None where one thread each is better.

    Parameters
    ----------
    others : reduces of the same dimensions, which are folded in the same loop.
    """
    reduced = a.Dimensions.of(instr).dimensions
    dims = instr.operands[0].shape.dims
    if not reduced or 0 in dims:
        return None
    last = max(d for d, n in enumerate(dims) if n > 1 or d == 0)
    by_rows = last in reduced
    if prod(dims[d] for d in reduced) < (LEAST_ROW if by_rows else LEAST_COLUMN):
        return None
    in_tiles = not by_rows and dims[last] >= SIDE_BY_SIDE

    def schedule() -> list[Stage]:
        reduces, column = (instr, *others), None if by_rows else last
        nest = fold_nest(kernel.body, reduces, outputs, column, side_by_side=not in_tiles)
        neutral_elements(nest.fold.reductions, nest.kinds)  # or there is no schedule
        if in_tiles:
            return _by_tiles(kernel, nest, _arrays(kernel, instr))
        return _by_rows(kernel, nest, _arrays(kernel, instr) if by_rows else ())

    return attempt(schedule)


def _arrays(kernel: CudaKernel, instr: Instruction) -> list[Instruction]:
    """The arrays in memory that a reduce may read, itself or in its fusion."""
    arrays = (*instr.operands[: len(instr.operands) // 2], *kernel.scope.arguments)
    return [i for i in arrays if i.shape.rank and kernel.scope.pointers_of(i) is not None]


def _by_rows(kernel: CudaKernel, nest: FoldNest, read: Sequence[Instruction]) -> list[Stage]:
    """A group of threads for each row, or several blocks.

    Parameters
    ----------
    read : arrays whose elements may lie side by side along a row.
    """
    count, kind = trips(nest.fold), "row reduction"
    parts = FoldParts(nest.results, count, STEP)
    # The more variables threads hand each other, the more elements each folds before.
    group = threads_for(-(-parts.size // len(nest.fold.reductions)))
    width = vectors.width_of_rows(read, count, group) if read else 1
    if width > 1:
        pack = partial(packed, kernel)
        made = attempt(lambda: strip_mine(kernel.body, nest.fold, width, pack, "v"))
        nest, width = (nest.with_fold(made), width) if made else (nest, 1)
    if parts.number == 1:
        return [_of_groups(kernel, nest, group, kind)]
    first, second = _in_parts(kernel, nest, parts.size // width)
    lanes = bind(deal(kernel.body, first.fold, group, first.kinds), THREAD_X)
    launch = bound_stage(kernel.body, _on_blocks(first.with_fold(lanes).nest), kind)
    return [launch, _of_parts(kernel, second)]


def _by_tiles(kernel: CudaKernel, nest: FoldNest, read: Sequence[Instruction]) -> list[Stage]:
    """A block of 32 x 32 threads for 32 words of neighbouring columns, or several blocks."""
    tiles, kind = ColumnTiles(kernel, nest, read), "column reduction"
    count = trips(nest.fold)
    parts = FoldParts(tiles.tiles * trips(nest.loops[0]), count, WARP, tiles.columns)
    if parts.number == 1:
        return [bound_stage(kernel.body, _on_blocks(tiles.of(nest)), kind)]
    first, second = _in_parts(kernel, nest, parts.size)
    launch = bound_stage(kernel.body, _on_blocks(tiles.of(first)), kind)
    return [launch, _of_parts(kernel, second)]


def _of_groups(kernel: CudaKernel, nest: FoldNest, group: int, kind: str) -> Stage:
    """A group of threads for each row."""
    lanes = bind(deal(kernel.body, nest.fold, group, nest.kinds), THREAD_X)
    return on_groups(kernel.body, nest.with_fold(lanes).nest, group, kind)


def _on_blocks(loop: For) -> For:
    """Loops around each other, and around others, on the blocks of a grid."""
    inner = loop.body[0]
    if isinstance(inner, For):
        loop = loop.with_body([_on_blocks(inner)])
    return bind(loop, BLOCK_X)


def _of_parts(kernel: CudaKernel, nest: FoldNest) -> Stage:
    """The second launch, of a group of threads for the parts of each result."""
    rows = FoldNest(coalesce(nest.nest, len(nest.loops), "row"))
    group = threads_for(trips(rows.fold))
    return _of_groups(kernel, rows, group, "second stage of a reduction")


def _in_parts(kernel: CudaKernel, nest: FoldNest, size: int) -> tuple[FoldNest, FoldNest]:
    """Loops that fold parts of so many numbers, and loops that fold these parts.

        for row < 3: total = 0; for r < 90: total = total + x[90 * row + r]; y[row] = total

    becomes, in parts of 30,

        for row < 3: for part < 90 by 30:
          own = 0; for part <= r < part + 30: own = own + x[90 * row + r]
          partial[3 * row + part / 30] = own
        for row < 3: total = 0; for r < 3: total = total + partial[3 * row + r]; y[row] = total
    """
    body, count = kernel.body, trips(nest.fold)
    number = -(-count // size)
    rooms = {n: kernel.room(k, "partial", nest.results * number) for n, k in nest.kinds.items()}

    def elements(part: Sum) -> dict[str, Expr]:
        return {name: item(room, nest.result * number + part) for name, room in rooms.items()}

    def inside(block: For, first: Expr | int) -> Iterable[Statement]:
        assert isinstance(first, Name)
        fold, own = in_part(body, block, nest.kinds)
        places = elements(counter(first.name, count) // size)
        values = (s for s in nest.before if isinstance(s, Let))
        stores = (Assign(places[name], value) for name, value in own.items())
        return [*values, *begun(fold, own, nest.kinds), fold.loop, *stores]

    (parts,) = divide(body, nest.fold, size, inside, tail="min", word="part")
    assert isinstance(parts, For)
    # Each has a place of its own.
    first = FoldNest(nest.around([replace(parts, parallel=True)]))
    name, folds = body.name("r"), nest.fold.reductions
    stored = elements(counter(name, number))
    joined = all_joined([(op, Name(total), stored[total]) for op, total in folds])
    last = For(name, number, wrapped(joined, nest.kinds), reductions=folds)
    second = nest.with_fold(last)
    around = {loop.name: range(trips(loop)) for loop in nest.loops}
    of_part, r = counter(first.loops[-1].name, count) // size, counter(name, number)
    stored, loaded = (
        StagedElement(indexed(nest.result * number + n), (indexed(nest.result), indexed(n)), names)
        for n, names in (
            (of_part, {**around, first.loops[-1].name: range(0, count, size)}),
            (r, {**around, name: range(number)}),
        )
    )
    by = {**{n: Name(n) for n in around}, first.loops[-1].name: Name(name) * size}
    granted(*(Staged(room.name, stored, loaded, by) for room in rooms.values()))
    reason = "parts may be folded in any order, after all of them are stored"
    applied(f"fold {number} parts", reason, nest.nest, [first.nest, second.nest])
    return first, second
