"""Reductions that threads share: of rows, of several short rows, and of columns.

Neighbours of a row lie side by side in memory, so neighbouring threads read them: a group of
threads folds a row, first each for itself, then the threads of a warp by shuffles, and then the
warps of a block through shared memory. Of a column the neighbours lie apart, but those of
neighbouring columns side by side: 32 x 32 threads fold 32 columns, and meet in a shared tile that
is read transposed, whose rows are one element longer so that no two threads ask one bank.

Where that would be few blocks for many elements, as for the sum of a whole array, there are two
launches: each block folds a part, and leaves its result to the second one. So results do not
depend on which block is first, as they would if all added to one element.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/reduction.cc`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Literal, Name, binary, conjoined, indexed, item
from codegen.statements import live
from emit_cuda.kernels import vectors
from emit_cuda.kernels.folding import BARRIER, WARP, SharedFolds, shared_fold
from emit_cuda.kernels.groups import STEP, FoldParts, RowGroups, threads_for
from emit_cuda.kernels.stages import Stage
from hlo import attributes as a
from optimizer.analysis.indexing import Sum, counter, delinear, linear

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.expressions import Expr
    from emit_cuda.kernels.folding import SharedFold
    from emit_cuda.kernels.kernel import CudaKernel
    from hlo.instruction import Instruction

# Shorter rows and columns are folded by one thread each.
LEAST_ROW, LEAST_COLUMN = 8, 64
# Fewer neighbouring columns are folded as rows are: most threads of a tile would have none.
LEAST_SIDE_BY_SIDE = 8


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
    attrs = a.Dimensions.of(instr)
    dims = instr.operands[0].shape.dims
    if not attrs.dimensions or 0 in dims:
        return None
    count = prod(dims[d] for d in attrs.dimensions)
    last = max(d for d, n in enumerate(dims) if n > 1 or d == 0)
    by_rows = last in attrs.dimensions
    if count < (LEAST_ROW if by_rows else LEAST_COLUMN):
        return None
    with kernel.body.block():
        folds = [shared_fold(kernel.body, each) for each in (instr, *others)]
    known = [fold for fold in folds if fold is not None]
    if len(known) < len(folds):
        return None
    fold = SharedFolds(known) if others else known[0]
    if by_rows or dims[last] < LEAST_SIDE_BY_SIDE:
        return _RowReduction(kernel, fold, count, outputs, in_vectors=by_rows).launches()
    return _ColumnReduction(kernel, fold, count, outputs).launches()


class _Reduction(ABC):
    """Writes the launches of a reduction.

    Attributes
    ----------
    parts : of the fold of one result, each of which a block folds.
    partial : arrays of the blocks' results; empty where there is one for each result.
    """

    kind = ""

    def __init__(
        self, kernel: CudaKernel, fold: SharedFold, count: int, outputs: Sequence[Name]
    ) -> None:
        self.kernel, self.body, self.fold = kernel, kernel.body, fold
        self.count, self.outputs = count, outputs
        self.kept, self.reduced = fold.sizes()
        self.rows = prod(self.kept)
        self.parts = self.parts_of(count)
        size, several = self.rows * self.parts.number, self.parts.number > 1
        kinds = [kind for kind, _ in fold.variables] if several else []
        self.partial = [kernel.room(kind, "partial", size) for kind in kinds]

    def launches(self) -> list[Stage]:
        """All of them."""
        first = self._stage(self.first, self.kind)
        if not self.partial:
            return [first]
        return [first, self._stage(self.second, "second stage of a reduction")]

    def _stage(self, write: Callable[[], Stage], kind: str) -> Stage:
        with self.body.block() as statements:
            stage = write()
        return replace(stage, statements=live(statements), kind=kind)

    @abstractmethod
    def parts_of(self, count: int) -> FoldParts:
        """The parts of so many elements that belong together."""

    @abstractmethod
    def first(self) -> Stage:
        """Fold all elements, or one part of them for each block."""

    def second(self) -> Stage:
        """Reduce the partial results of the first launch's blocks."""
        parts = self.parts.number

        def add(row: Sum, number: Sum) -> None:
            at = row * parts + number
            self.body.add(*self.fold.join([item(p, at) for p in self.partial]))

        return self._rows_of(threads_for(parts), parts, add)

    def keep(self, number: Expr) -> None:
        """Store a block's partial result for the second launch."""
        for array, (_, variable) in zip(self.partial, self.fold.variables, strict=True):
            self.body.assign(item(array, number), Name(variable))

    def _rows_of(self, group: int, count: int, add: Callable[[Sum, Sum], None]) -> Stage:
        """A group of threads for each row of elements or vectors, which `add` folds in."""
        fold, groups = self.fold, RowGroups(self.body, self.rows, group)
        fold.begin()
        with self.body.loop("r", count, start=groups.lane, step=group) as r:
            add(groups.row, counter(r.name, count))
        shared = fold.join_threads(group)
        with groups.first_thread():
            fold.store(self.outputs, groups.row)
        return groups.stage(shared)


class _RowReduction(_Reduction):
    """A group of threads for each row, or several blocks.

    Parameters
    ----------
    in_vectors : neighbours of a row may lie side by side.
    """

    kind = "row reduction"

    def __init__(
        self,
        kernel: CudaKernel,
        fold: SharedFold,
        count: int,
        outputs: Sequence[Name],
        *,
        in_vectors: bool,
    ) -> None:
        super().__init__(kernel, fold, count, outputs)
        self.in_vectors = in_vectors

    def parts_of(self, count: int) -> FoldParts:
        """Of a row."""
        return FoldParts(self.rows, count, STEP)

    def first(self) -> Stage:
        """Fold rows, or parts of them."""
        kernel, body, fold = self.kernel, self.body, self.fold
        # The more variables threads hand each other, the more elements each folds before.
        group = threads_for(-(-self.parts.size // len(fold.variables)))
        read = _read(kernel, fold.instr) if self.in_vectors else ()
        width = vectors.width_of_rows(read, self.count, group) if read else 1
        iteration = body.name("v") if width > 1 else ""

        def add(row: Sum, vector: Sum) -> None:
            with body.block() as inside:
                element = vector * width + counter(iteration, width)
                fold.add(delinear(row, self.kept), delinear(element, self.reduced))
            body.add(*vectors.Pack(kernel, iteration, width).around(inside))

        if not self.partial:
            return self._rows_of(group, self.count // width, add)
        row, _, begin, end = self.parts.of_block(body, "row")
        fold.begin()
        if width > 1:
            begin, end = (body.let("s64", "vector", n / width) for n in (begin, end))
        start = body.let("s64", "first", begin + Name("threadIdx.x"))
        with body.loop("r", end, start=start, step=group) as r:
            add(counter(row.name, self.rows), counter(r.name, self.count // width))
        shared = fold.join_threads(group)
        with body.when(binary("==", Name("threadIdx.x"), 0)):
            self.keep(Name("blockIdx.x"))
        return Stage((), (self.rows * self.parts.number, 1, 1), (group, 1, 1), shared)


class _ColumnReduction(_Reduction):
    """A block of 32 x 32 threads for 32 neighbouring columns, or several blocks."""

    kind = "column reduction"

    def parts_of(self, count: int) -> FoldParts:
        """Of a tile of columns."""
        *outer, columns = self.kept
        return FoldParts(prod(outer) * -(-columns // WARP), count, WARP, WARP)

    def first(self) -> Stage:
        """Fold columns, or parts of them."""
        body, fold = self.body, self.fold
        *outer, columns = self.kept
        tiles, others = -(-columns // WARP), prod(outer)
        x, y = Name("threadIdx.x"), Name("threadIdx.y")
        block, start, end = Name("blockIdx.x"), y, Literal(self.count)
        if self.partial:
            block, _, begin, end = self.parts.of_block(body, "block")
            start = body.let("s64", "first", begin + y)
        tile = body.let("s64", "tile", block % tiles if outer else block)
        number = counter(body.let("s64", "outer", block / tiles).name, others) if outer else Sum(0)
        column = body.let("s64", "column", tile * WARP + x)
        fold.begin()
        index = (*delinear(number, outer), counter(column.name, columns))
        with (
            body.when(binary("<", column, columns) if columns % WARP else None),
            body.loop("r", end, start=start, step=WARP) as r,
        ):
            fold.add(index, delinear(counter(r.name, self.count), self.reduced))
        arrays = [(kind, body.name("tile"), WARP * (WARP + 1)) for kind, _ in fold.variables]
        for (_, array, _), (_, variable) in zip(arrays, fold.variables, strict=True):
            body.assign(item(Name(array), y * (WARP + 1) + x), Name(variable))
        body.add(BARRIER)
        for (_, array, _), (_, variable) in zip(arrays, fold.variables, strict=True):
            body.assign(Name(variable), item(Name(array), x * (WARP + 1) + y))
        fold.join_warp(WARP)
        theirs = body.let("s64", "column", tile * WARP + y)
        mine = [binary("==", x, 0), *([binary("<", theirs, columns)] if columns % WARP else [])]
        with body.when(conjoined(mine)):
            at = linear((*delinear(number, outer), counter(theirs.name, columns)), self.kept)
            if self.partial:
                parts = self.parts.number
                self.keep(indexed(at * parts) + Name("blockIdx.x") % parts)
            else:
                fold.store(self.outputs, at)
        grid = others * tiles * self.parts.number, 1, 1
        return Stage((), grid, (WARP, WARP, 1), tuple(arrays))


def _read(kernel: CudaKernel, instr: Instruction) -> list[Instruction]:
    """The arrays whose elements a reduce may read, itself or in its fusion."""
    arrays = instr.operands[: len(instr.operands) // 2]
    return [i for i in (*arrays, *kernel.scope.arguments) if i.shape.rank]
