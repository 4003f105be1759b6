"""Reductions that threads share: of rows, of several short rows, and of columns.

Neighbours of a row lie side by side in memory, so neighbouring threads read them: a group of
threads folds a row, first each for itself, then the threads of a warp by shuffles, and then the
warps of a block through shared memory. Of a column the neighbours lie apart, but those of
neighbouring columns side by side: 32 x 32 threads fold 32 columns, and meet in a shared tile that
is read transposed, whose rows are one element longer so that no two threads ask one bank.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/reduction.cc`.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Literal, Name, binary, conjoined, item
from codegen.indexing import Sum, counter, linear
from codegen.statements import For
from emit_cuda.kernels import vectors
from emit_cuda.kernels.folding import BARRIER, WARP, place, shared_fold, when
from emit_cuda.kernels.stages import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Kernel
    from emit_cuda.kernels.folding import Shared, SharedFold
    from hlo import attributes as a
    from hlo.instruction import Instruction

# Shorter rows and columns are folded by one thread each.
LEAST_ROW, LEAST_COLUMN = 8, 64
# Elements that a thread folds before it meets others, and threads of the blocks of short rows.
EACH, PACKED = 16, 128
MOST_THREADS = 1024


def reduction_stage(kernel: Kernel, instr: Instruction, outputs: Sequence[Name]) -> Stage | None:
    """A launch whose threads share the folds of a reduce; None where one thread each is better."""
    attrs: a.Dimensions = instr.attrs  # type: ignore[assignment]
    dims = instr.operands[0].shape.dims
    if not attrs.dimensions or 0 in dims:
        return None
    count = prod(dims[d] for d in attrs.dimensions)
    by_rows = max(d for d, n in enumerate(dims) if n > 1 or d == 0) in attrs.dimensions
    if count < (LEAST_ROW if by_rows else LEAST_COLUMN):
        return None
    with kernel.body.block():
        fold = shared_fold(kernel.body, instr)
    if fold is None:
        return None
    with kernel.body.block() as statements:
        made = _rows(kernel, fold, count, outputs) if by_rows else _columns(fold, count, outputs)
    return replace(made, statements=tuple(statements))


def threads_for(row: int) -> int:
    """How many threads fold a row: of short ones less than a warp, of long ones up to a block."""
    if row <= WARP:
        return 1 << (row - 1).bit_length()
    if row <= WARP * EACH:
        return WARP
    return min(MOST_THREADS, max(WARP, 1 << (-(-row // EACH) - 1).bit_length()))


def _read(kernel: Kernel, instr: Instruction) -> list[Instruction]:
    """The arrays whose elements a reduce may read, itself or in its fusion."""
    arrays = instr.operands[: len(instr.operands) // 2]
    return [i for i in (*arrays, *kernel.scope.arguments) if i.shape.rank]


def _rows(kernel: Kernel, fold: SharedFold, count: int, outputs: Sequence[Name]) -> Stage:
    """A group of threads for each row."""
    body = fold.body
    kept, reduced = fold.sizes()
    rows, group = prod(kept), threads_for(count)
    # The warps of a block can fold one row together, but several rows only apart.
    block = PACKED if group <= WARP else group
    packed = block // group
    first = Name("blockIdx.x") if packed == 1 else Name("blockIdx.x") * packed
    if packed > 1:
        first = first + Name("threadIdx.x") / group
    asked = body.let("s64", "row", first)
    ragged = rows % packed != 0
    if ragged:
        # All threads of a warp must come to the shuffles.
        asked = body.let("s64", "row", Choose(binary("<", asked, rows), asked, Literal(rows - 1)))
    number = counter(asked.name, rows)
    lane = body.let(
        "s64", "lane", Name("threadIdx.x") % group if packed > 1 else Name("threadIdx.x")
    )
    fold.begin()
    name, width = body.name("r"), vectors.width_of_rows(_read(kernel, fold.instr), count, group)
    turn = body.name("v") if width > 1 else ""
    element = counter(name, count // width) * width + counter(turn, width)
    with body.block() as inside:
        fold.add(place(number, kept), place(element, reduced))
    if width > 1:
        inside = vectors.Pack(kernel, turn, width).around(inside)
    body.add(For(name, count // width, tuple(inside), start=lane, step=group))
    fold.join_warp(min(group, WARP))
    shared: Shared = ()
    if group > WARP:
        shared = fold.join_block(group // WARP)
    with body.block() as stored:
        fold.store(outputs, number)
    mine = [binary("==", lane, 0)]
    if ragged:
        real = Name("blockIdx.x") * packed + Name("threadIdx.x") / group
        mine.append(binary("<", real, rows))
    when(body, conjoined(mine), stored)
    return Stage((), (-(-rows // packed), 1, 1), (block, 1, 1), shared, kind="row reduction")


def _columns(fold: SharedFold, count: int, outputs: Sequence[Name]) -> Stage:
    """A block of 32 x 32 threads for 32 neighbouring columns."""
    body = fold.body
    kept, reduced = fold.sizes()
    *outer, columns = kept
    tiles = -(-columns // WARP)
    tile = body.let("s64", "tile", Name("blockIdx.x") % tiles if outer else Name("blockIdx.x"))
    others = prod(outer)
    number = Sum(0)
    if others > 1:
        number = counter(body.let("s64", "outer", Name("blockIdx.x") / tiles).name, others)
    x, y = Name("threadIdx.x"), Name("threadIdx.y")
    asked = body.let("s64", "column", tile * WARP + x)
    fold.begin()
    name = body.name("r")
    with body.block() as inside:
        index = (*place(number, outer), counter(asked.name, columns))
        fold.add(index, place(counter(name, count), reduced))
    loop = For(name, count, tuple(inside), start=y, step=WARP)
    ragged = columns % WARP != 0
    if ragged:
        when(body, binary("<", asked, columns), [loop])
    else:
        body.add(loop)
    arrays = [(kind, body.name("tile"), WARP * (WARP + 1)) for kind, _ in fold.variables]
    for (_, array, _), (_, variable) in zip(arrays, fold.variables, strict=True):
        body.assign(item(Name(array), y * (WARP + 1) + x), Name(variable))
    body.add(BARRIER)
    for (_, array, _), (_, variable) in zip(arrays, fold.variables, strict=True):
        body.assign(Name(variable), item(Name(array), x * (WARP + 1) + y))
    fold.join_warp(WARP)
    theirs = body.let("s64", "column", tile * WARP + y)
    with body.block() as stored:
        at = (*place(number, outer), counter(theirs.name, columns))
        fold.store(outputs, linear(at, kept))
    mine = [binary("==", x, 0), *([binary("<", theirs, columns)] if ragged else [])]
    when(body, conjoined(mine), stored)
    grid = others * tiles, 1, 1
    return Stage((), grid, (WARP, WARP, 1), tuple(arrays), kind="column reduction")
