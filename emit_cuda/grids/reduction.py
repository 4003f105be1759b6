"""Reductions that threads share: of rows, of several short rows, and of columns.

Neighbours of a row lie side by side in memory, so neighbouring threads read them: a group of
threads folds a row, first each for itself, then the threads of a warp by shuffles, and then the
warps of a block through shared memory. Of a column the neighbours lie apart, but those of
neighbouring columns side by side: 32 x 32 threads fold 32 columns, and meet in a shared tile that
is read transposed, whose rows are one element longer so that no two threads ask one bank. Of a few
columns, most threads of such a tile would have none: there, each thread folds all of them.

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
from codegen.statements import LocalVariable, renamed
from emit_cuda.grids.folding import SharedFolds, column_folds, shared_fold
from emit_cuda.grids.groups import STEP, FoldParts, RowGroups, threads_for
from emit_cuda.grids.stages import BARRIER, SHARED_BYTES, WARP
from emit_cuda.loops import vectors
from emit_cuda.loops.packs import Pack
from hlo import attributes as a
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Sum, counter, delinear, linear
from optimizer.fusion.policy import SIDE_BY_SIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.expressions import Expr
    from codegen.statements import Statement
    from emit_cuda.grids.folding import SharedFold
    from emit_cuda.grids.kernel import GridKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

    # The blocks of a launch, and the threads of each.
    Size = tuple[int, int | tuple[int, int]]

# Shorter rows and columns are folded by one thread each.
LEAST_ROW, LEAST_COLUMN = 8, 64
# Elements of a tile in which 32 x 32 threads meet.
TILE = WARP * (WARP + 1)
# Bytes of a line of memory; of columns of which 32 are less, a thread loads so many bytes at once.
LINE, WORD = 128, 8


def reduction_stages(
    kernel: GridKernel,
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
    by_columns = not by_rows and dims[last] >= SIDE_BY_SIDE
    with kernel.body.block():
        folds = [
            shared_fold(kernel, other)
            if by_rows or by_columns
            else column_folds(kernel, other, last)
            for other in (instr, *others)
        ]
    known = [fold for fold in folds if fold is not None]
    if len(known) < len(folds):
        return None
    fold = SharedFolds(known) if others else known[0]
    if by_columns:
        return _ColumnReduction(kernel, fold, count, outputs).launches()
    return _RowReduction(kernel, fold, count, outputs, in_vectors=by_rows).launches()


class _Reduction(ABC):
    """Writes the launches of a reduction.

    Attributes
    ----------
    parts : of the fold of one result, each of which a block folds.
    partial : arrays of the blocks' results; empty where there is one for each result.
    """

    kind = ""

    def __init__(
        self, kernel: GridKernel, fold: SharedFold, count: int, outputs: Sequence[Name]
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
        """The launches of the reduction: one, or two where rows are folded in parts."""
        first = self._stage(self.first, self.kind)
        if not self.partial:
            return [first]
        return [first, self._stage(self.second, "second stage of a reduction")]

    def _stage(self, write: Callable[[], Size], kind: str) -> Stage:
        with self.body.block() as statements:
            size = write()
        return self.kernel.stage(statements, *size, kind)

    @abstractmethod
    def parts_of(self, count: int) -> FoldParts:
        """The parts of so many elements that belong together."""

    @abstractmethod
    def first(self) -> Size:
        """Fold all elements, or one part of them for each block."""

    def second(self) -> Size:
        """Reduce the partial results of the first launch's blocks."""
        parts = self.parts.number

        def add(row: Sum, number: Sum) -> None:
            at = row * parts + number
            self.body.add(*self.fold.join([item(p, at) for p in self.partial]))

        return self._rows_of(threads_for(parts), parts, add)

    def _rows_of(self, group: int, count: int, add: Callable[[Sum, Sum], None]) -> Size:
        """A group of threads for each row of elements or vectors, which `add` folds in."""
        fold, groups = self.fold, RowGroups(self.body, self.rows, group)
        fold.begin()
        with self.body.loop("r", count, start=groups.lane, step=group) as r:
            add(groups.row, counter(r.name, count))
        fold.join_threads(group)
        with groups.first_thread():
            fold.store(self.outputs, groups.row)
        return groups.size


class _RowReduction(_Reduction):
    """A group of threads for each row, or several blocks.

    Parameters
    ----------
    in_vectors : neighbours of a row may lie side by side.
    """

    kind = "row reduction"

    def __init__(
        self,
        kernel: GridKernel,
        fold: SharedFold,
        count: int,
        outputs: Sequence[Name],
        *,
        in_vectors: bool,
    ) -> None:
        super().__init__(kernel, fold, count, outputs)
        self.in_vectors = in_vectors

    def parts_of(self, count: int) -> FoldParts:
        """The parts of a row that are folded apart, so many or fewer."""
        return FoldParts(self.rows, count, STEP)

    def first(self) -> Size:
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
            body.add(*Pack(kernel, iteration, width).around(inside))

        if not self.partial:
            return self._rows_of(group, self.count // width, add)
        row, _, begin, end = self.parts.of_block(body, "row")
        fold.begin()
        if width > 1:
            begin, end = (body.let("s64", "vector", n / width) for n in (begin, end))
        number = counter(row.name, self.rows)
        fold.fold_part(
            "r", (begin, end), group, lambda r: add(number, counter(r.name, self.count // width))
        )
        with body.when(binary("==", Name("threadIdx.x"), 0)):
            fold.keep(self.partial, Name("blockIdx.x"))
        return self.rows * self.parts.number, group


class _ColumnReduction(_Reduction):
    """A block of 32 x 32 threads for 32 words of neighbouring columns, or several blocks.

    Attributes
    ----------
    width : columns of a thread, as many as a word of memory has.
    """

    kind = "column reduction"
    width = 1

    def parts_of(self, count: int) -> FoldParts:
        """Of a tile of columns."""
        *outer, columns = self.kept
        self.width = self._columns_of_a_thread(columns)
        side_by_side = WARP * self.width
        return FoldParts(prod(outer) * -(-columns // side_by_side), count, WARP, side_by_side)

    def _columns_of_a_thread(self, columns: int) -> int:
        sizes = [i.shape.element_type.bytes for i in _read(self.kernel, self.fold.instr)]
        size = max(sizes, default=LINE)
        width = WORD // size if size * WARP < LINE else 1
        tiles = sum(ELEMENT_TYPES[kind].bytes for kind, _ in self.fold.variables) * TILE
        while width > 1 and (
            columns % width or columns < width * WARP or width * tiles > SHARED_BYTES
        ):
            width //= 2
        index = *delinear(Sum(0), self.kept[:-1]), counter("column", columns // width) * width
        reduced = delinear(counter("r", self.count), self.reduced)
        with self.body.block():
            return width if self._fold_neighbours(index, reduced, width) else 1

    def _fold_neighbours(self, first: Index, reduced: Index, width: int) -> list[Statement] | None:
        """Fold an element of each of a thread's columns; None where they are no vector."""
        iteration = self.body.name("v") if width > 1 else ""
        with self.body.block() as inside:
            self.fold.add((*first[:-1], first[-1] + counter(iteration, width)), reduced)
        pack = Pack(self.kernel, iteration, width)
        own = [self._of_column(s, Name(iteration), width) for s in inside]
        return pack.loop(own) if width > 1 else pack.around(own)

    def _of_column(self, statement: Statement, number: Expr, width: int) -> Statement:
        """A statement about one of a thread's columns, whose variables are arrays then."""
        if width == 1:
            return statement
        variables = {name: item(Name(name), number) for _, name in self.fold.variables}
        return renamed(statement, variables)

    def _begin(self) -> None:
        """Declare the variables of all columns of a thread."""
        with self.body.block() as begun:
            self.fold.begin()
        for statement in begun:
            if isinstance(statement, LocalVariable) and self.width > 1 and statement.value:
                self.body.add(replace(statement, value=None, size=self.width))
                for number in range(self.width):
                    self.body.assign(item(Name(statement.name), number), statement.value)
            else:
                self.body.add(statement)

    def first(self) -> Size:
        """Fold columns, or parts of them."""
        body, width = self.body, self.width
        *outer, columns = self.kept
        tiles, others = -(-columns // (WARP * width)), prod(outer)
        x, y = Name("threadIdx.x"), Name("threadIdx.y")
        block, start, end = Name("blockIdx.x"), y, Literal(self.count)
        if self.partial:
            block, _, begin, end = self.parts.of_block(body, "block")
            start = body.let("s64", "first", begin + y)
        tile = body.let("s64", "tile", block % tiles if outer else block)
        number = body.counted("outer", block / tiles, others) if outer else Sum(0)
        words, ragged = columns // width, columns % (WARP * width)
        column = body.let("s64", "column", tile * WARP + x)
        self._begin()
        index = (*delinear(number, outer), counter(column.name, words) * width)
        with (
            body.when(binary("<", column, words) if ragged else None),
            body.loop("r", end, start=start, step=WARP) as r,
        ):
            reduced = delinear(counter(r.name, self.count), self.reduced)
            body.add(*self._fold_neighbours(index, reduced, width) or ())
        self._transpose()
        theirs = body.let("s64", "column", tile * WARP + y)
        mine = [binary("==", x, 0), *([binary("<", theirs, words)] if ragged else [])]
        first = counter(theirs.name, words) * width
        for k in range(width):
            at = linear((*delinear(number, outer), first + k), self.kept)
            with body.block() as joined:
                self.fold.join_warp(WARP)
                with body.when(conjoined(mine)):
                    self._leave(at)
            body.add(*(self._of_column(s, Literal(k), width) for s in joined))
        return others * tiles * self.parts.number, (WARP, WARP)

    def _transpose(self) -> None:
        """Hand the sums of a column to the threads of a warp, through shared memory."""
        body, own, theirs = self.body, Name("threadIdx.y"), Name("threadIdx.x")
        pairs = [
            (
                self.kernel.shared_array(kind, "tile", TILE),
                item(Name(name), column) if self.width > 1 else Name(name),
            )
            for column in range(self.width)
            for kind, name in self.fold.variables
        ]
        for array, variable in pairs:
            body.assign(item(array, own * (WARP + 1) + theirs), variable)
        body.add(BARRIER)
        for array, variable in pairs:
            body.assign(variable, item(array, theirs * (WARP + 1) + own))

    def _leave(self, number: Sum) -> None:
        """Store the result of a column, or of a part of it."""
        if self.partial:
            parts = self.parts.number
            block = Name("blockIdx.x") % parts
            self.fold.keep(self.partial, indexed(number * parts) + block)
        else:
            self.fold.store(self.outputs, number)


def _read(kernel: GridKernel, instr: Instruction) -> list[Instruction]:
    """The arrays in memory that a reduce may read, itself or in its fusion."""
    arrays = (*instr.operands[: len(instr.operands) // 2], *kernel.scope.arguments)
    return [i for i in arrays if i.shape.rank and kernel.scope.pointers_of(i) is not None]
