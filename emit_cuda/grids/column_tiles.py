"""Schedules of folds of columns: 32 x 32 threads fold 32 words of neighbouring columns.

    for column < 64: total = 0; for r < 90: total = total + x[64 * r + column]; y[column] = total

becomes, where a warp reads neighbours of a row,

    for tile < 2 (blockIdx.x): parts[32 * 33]
      for k < 32 (threadIdx.x): for lane < 32 (threadIdx.y):
        part = 0; for lane <= r < 90 by 32: part = part + x[64 * r + 32 * tile + k]
        parts[33 * lane + k] = part
      for k < 32 (threadIdx.y): total = 0
        for lane < 32 (threadIdx.x): part = parts[33 * lane + k]; total = total + part
        y[32 * tile + k] = total

The parts wait in shared memory until another warp folds those of a column. Its rows are one element
longer, so that no two threads ask one bank. Of columns of which 32 fill no line of memory, a thread
folds several, as many as a word has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import THREAD_X, THREAD_Y, Name, binary, indexed, item
from codegen.schedule.obligations import Staged, StagedElement, granted
from codegen.schedule.order import bind
from codegen.schedule.rfactor import deal
from codegen.schedule.trace import applied
from codegen.schedule.unroll import copied
from codegen.statements import Assign, For, If, Let, LocalVariable, live, renamed
from emit_cuda.grids.fold_nests import FoldNest, trips
from emit_cuda.grids.stages import SHARED_BYTES, WARP
from emit_cuda.loops.packs import Pack
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from codegen.expressions import Expr, LaunchIndex, Load
    from codegen.statements import Statement
    from emit_cuda.grids.kernel import CudaKernel
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Sum

# From one row in shared memory to the next, and elements of all rows.
PITCH, TILE = WARP + 1, WARP * (WARP + 1)
# Bytes of a line of memory; of columns of which 32 are less, a thread loads so many bytes at once.
LINE, WORD = 128, 8


class ColumnTiles:
    """The loops over columns as loops over tiles of them.

    Parameters
    ----------
    nest : rows of columns, whose elements are folded.
    read : arrays that may have them.

    Attributes
    ----------
    width : columns of a thread, as many as a word of memory has.
    words, columns : words of a row, and columns of a tile.
    tiles : side by side.
    """

    def __init__(self, kernel: CudaKernel, nest: FoldNest, read: Sequence[Instruction]) -> None:
        self.kernel, self.body = kernel, kernel.body
        self.column, size = nest.loops[1].name, trips(nest.loops[1])
        widest = max((i.shape.element_type.bytes for i in read), default=LINE)
        self.width = WORD // widest if widest * WARP < LINE else 1
        tile_bytes = sum(ELEMENT_TYPES[kind].bytes for kind in nest.kinds.values()) * TILE
        while self.width > 1 and (
            size % self.width or size < self.columns or self.width * tile_bytes > SHARED_BYTES
        ):
            self.width //= 2
        self.words = size // self.width
        if self._of_word(nest.fold.body, nest.kinds) is None:
            self.width, self.words = 1, size
        self.tiles, self.is_ragged = -(-size // self.columns), size % self.columns > 0

    @property
    def columns(self) -> int:
        """The columns of a tile."""
        return WARP * self.width

    def of(self, nest: FoldNest) -> For:
        """The loops over rows, tiles of columns, and parts, if there are some."""
        rows, column, *parts = nest.loops
        tile, k = self.body.name("tile"), self.body.name("k")
        lanes = deal(self.body, nest.fold, WARP, nest.kinds)
        count = len(lanes.reductions)
        own = [s for s in lanes.body[:count] if isinstance(s, LocalVariable)]
        arrays = {s.name: Name(self.body.name("tile")) for s in own}
        at = counter(lanes.name, WARP) * PITCH + counter(k, WARP)
        elements = [
            {name: item(array, at + n * TILE) for name, array in arrays.items()}
            for n in range(self.width)
        ]
        word = indexed(counter(tile, self.tiles) * WARP + counter(k, WARP))

        def over(index: LaunchIndex, inside: Iterable[Statement]) -> For:
            statements = live([Let("s64", self.column, word), *inside])
            return bind(For(k, WARP, statements, parallel=True), index)

        values = [s for s in nest.before if isinstance(s, Let)]
        folding = [*values, *self._parts(own, lanes.body[count], elements)]
        first = bind(For(lanes.name, WARP, live(folding), parallel=True), THREAD_Y)
        arrays_of = (
            LocalVariable(s.kind, arrays[s.name].name, size=self.width * TILE) for s in own
        )
        made: tuple[Statement, ...] = (
            *arrays_of,
            over(THREAD_X, [first]),
            over(THREAD_Y, self._wholes(nest, own, lanes, elements)),
        )
        for part in parts:
            made = (part.with_body(made),)
        tiles = For(tile, self.tiles, made, parallel=True)
        same = {lanes.name: range(WARP), k: range(WARP), "n": range(self.width)}
        place = indexed(at + counter("n", self.width) * TILE)
        names = {name: Name(name) for name in same}
        part = StagedElement(place, tuple(names.values()), same)
        granted(*(Staged(array.name, part, part, names) for array in arrays.values()))
        reason = "a block has stored all parts of its columns, when it folds them"
        applied(f"tile by {self.columns} columns, staged in shared memory", reason, column, [tiles])
        return rows.with_body([tiles])

    def _parts(
        self, own: Sequence[LocalVariable], fold: Statement, elements: Sequence[Mapping[str, Load]]
    ) -> Iterable[Statement]:
        """Variables, the loop that folds into them, and the stores to shared memory."""
        assert isinstance(fold, For)
        if self.width == 1:
            stores = (Assign(place, Name(name)) for name, place in elements[0].items())
            return [*own, *self._existing([fold]), *stores]
        inside = self._of_word(fold.body, elements[0])
        assert inside is not None
        columns = range(self.width)
        return [
            *(replace(s, value=None, size=self.width) for s in own),
            *(Assign(item(Name(s.name), n), s.value) for s in own for n in columns if s.value),
            *self._existing([replace(fold, body=tuple(inside), reductions=())]),
            *(Assign(elements[n][s.name], item(Name(s.name), n)) for n in columns for s in own),
        ]

    def _wholes(
        self,
        nest: FoldNest,
        own: Sequence[LocalVariable],
        lanes: For,
        elements: Sequence[Mapping[str, Load]],
    ) -> Iterable[Statement]:
        """The folds of the columns of a word, by one loop, with what is around them."""
        before: list[Statement] = []
        after: list[Statement] = []
        reads: list[Statement] = []
        joins: list[Statement] = []
        folds: list[tuple[str, str]] = []
        count = len(own)
        for n, places in enumerate(elements):
            read = [replace(s, value=places[s.name]) for s in own]
            one = [*nest.before, lanes.with_body([*read, *lanes.body[count + 1 :]]), *nest.after]
            if self.width > 1:
                column = indexed(counter(self.column, self.words) * self.width + n)
                one = list(copied(self.body, one, {self.column: column}))
            fold = one[len(nest.before)]
            assert isinstance(fold, For)
            before += one[: len(nest.before)]
            after += one[len(nest.before) + 1 :]
            reads += fold.body[:count]
            joins += fold.body[count:]
            folds += fold.reductions
        together = replace(lanes, body=(*reads, *joins), reductions=tuple(folds))
        return self._existing([*before, bind(together, THREAD_X), *after])

    def _existing(self, statements: Sequence[Statement]) -> Sequence[Statement]:
        """Statements for words that there are, as the last tile may reach out."""
        exists = binary("<", Name(self.column), self.words)
        return [If(exists, tuple(statements))] if self.is_ragged else statements

    def _of_word(
        self, statements: Sequence[Statement], names: Iterable[str]
    ) -> list[Statement] | None:
        """Statements for a word of columns, whose variables are arrays; None if it is no vector."""
        v = self.body.name("v")
        values: dict[str, Expr] = {name: item(Name(name), Name(v)) for name in names}
        place: Sum = counter(self.column, self.words) * self.width + counter(v, self.width)
        values[self.column] = indexed(place)
        return Pack(self.kernel, v, self.width).loop([renamed(s, values) for s in statements])
