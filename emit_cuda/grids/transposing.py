"""Loops that read an array transposed, by tiles: rows are read as they lie, and written so.

Where neighbours of the result come from elements far apart in an operand, a warp would read one of
each sector of memory. So a block computes a tile of the result. First the block reads the tile's
elements of such operands, by rows of the operand, into shared memory. Then it computes the tile by
rows of the result, with the elementwise work around the transposes, and reads all other operands in
place. The rows in shared memory are one element longer, so that threads which read columns ask
different banks.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/transpose.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Name, binary, conjoined, indexed, item
from codegen.kinds import number_of
from codegen.statements import Let, Statement, live
from emit_cuda.grids.groups import WAVE
from emit_cuda.grids.stages import BARRIER, SHARED_BYTES, WARP
from emit_cuda.loops.packs import Pack
from emit_cuda.loops.transposed_reads import (
    TransposedRead,
    may_transpose,
    transposed_read,
    transposed_sides,
)
from optimizer.analysis.indexing import Sum, counter, delinear
from optimizer.fusion.policy import TILED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.expressions import Expr
    from emit_cuda.grids.kernel import GridKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index as ElementIndex

    # Gives a kernel's statements that compute and store the element of an index.
    Write = Callable[[GridKernel, ElementIndex], Sequence[Statement]]

# Rows of a block's threads.
ROWS = 8
# Bytes of a tile's row at most: so much of a row is read from memory at once.
ROW_BYTES = 256

WORD = 4


@dataclass(frozen=True, slots=True)
class TileShape:
    """The size of a tile.

    Attributes
    ----------
    width : neighbours that a thread reads and writes at once.
    parts : how often a warp goes on along a row.
    """

    width: int
    parts: int

    @property
    def edge(self) -> int:
        """The rows, and as many columns."""
        return WARP * self.width * self.parts

    def pitch(self, read: TransposedRead) -> int:
        """Elements from one row in shared memory to the next, which begins in another bank."""
        return self.edge + max(1, WORD // (read.bytes * self.width))


def transpose_stage(kernel: GridKernel, roots: Sequence[Instruction], write: Write) -> Stage | None:
    """A launch that computes arrays of equal dimensions by tiles; None where loops are as good.

    Parameters
    ----------
    roots : that are computed.
    """
    dims = roots[0].shape.first_leaf.dims
    if prod(dims) < TILED * TILED or not may_transpose(kernel.scope, roots):
        return None
    # A trial kernel, which is thrown away, shows the shared memory that the tile needs.
    trial = kernel.trial()
    sides = transposed_sides(trial, dims, partial(write, trial))
    if sides is None:
        return None
    tile = _TransposedTiles(trial, dims, sides, write).shape()
    return None if tile is None else _TransposedTiles(kernel, dims, sides, write).stage(tile)


class _TransposedTiles:
    """Writes the code of a block, whose threads are warps one above the other.

    Parameters
    ----------
    sides : the dimensions of the result that the rows and the columns of a tile count.
    """

    def __init__(
        self, kernel: GridKernel, dims: Sequence[int], sides: tuple[range, range], write: Write
    ) -> None:
        self.kernel, self.body, self.dims, self.sides = kernel, kernel.body, dims, sides
        self.write = write
        self.sizes = [prod(dims[d] for d in side) for side in sides]
        in_tile = {d for side in sides for d in side}
        self.others = [1 if d in in_tile else n for d, n in enumerate(dims)]
        self.row, self.column = self.body.name("row"), self.body.name("column")
        self.lane = self.body.name("v")

    def shape(self) -> TileShape | None:
        """A good size of a tile: of long rows, if that leaves blocks for all multiprocessors."""
        outer = delinear(counter(self.body.name("block"), prod(self.others)), self.others)
        reads = dict.fromkeys(self._reads(self._computed(outer, 1), outer).values())
        if not reads:
            return None
        least = min(read.bytes for read in reads)
        width = max(1, WORD // least)
        if any(n % width for n in self.sizes):
            width = 1
        for tile in (TileShape(width, 2), TileShape(width, 1)):
            edge = tile.edge
            blocks = prod(self.others) * prod(-(-n // edge) for n in self.sizes)
            fits = sum(r.bytes * edge * tile.pitch(r) for r in reads) <= SHARED_BYTES
            wanted = edge * least <= ROW_BYTES and blocks >= WAVE
            if fits and (wanted or tile.parts == 1):
                return tile
        return None

    def stage(self, tile: TileShape) -> Stage:
        """The launch that transposes tiles of a shape."""
        body, edge = self.body, tile.edge
        grid = [*self.others, *(-(-n // edge) for n in self.sizes)]
        with body.block() as statements:
            block = body.counted("block", Name("blockIdx.x"), prod(grid))
            *others, down, across = delinear(block, grid)
            outer = tuple(others)
            lane = body.counted("lane", Name("threadIdx.x"), WARP)
            warp = body.counted("warp", Name("threadIdx.y"), ROWS)
            computed = self._computed(outer, tile.width)
            reads = self._reads(computed, outer)
            tiles = {
                r: self.kernel.shared_array(number_of(r.kind), "tile", edge * tile.pitch(r))
                for r in dict.fromkeys(reads.values())
            }
            with body.loops(["j", "i"], [edge // ROWS, tile.parts], unroll=True) as (j, i):
                inside = warp + j * ROWS, lane + i * WARP
                self._read(tile, tiles, (down, across), inside)
            body.add(BARRIER)
            with body.loops(["j", "i"], [edge // ROWS, tile.parts], unroll=True) as (j, i):
                inside = warp + j * ROWS, lane + i * WARP
                element = inside[1] * tile.width + counter(self.lane, tile.width)
                kept = list(computed)
                for number, statement in enumerate(computed):
                    if isinstance(statement, Let) and (read := reads.get(statement)):
                        at = element * tile.pitch(read) + inside[0]
                        kept[number] = replace(statement, value=item(tiles[read], at))
                self._computes(tile, (down, across), inside, kept)
        return self.kernel.stage(statements, prod(grid), (WARP, ROWS), "transpose")

    def _read(
        self,
        tile: TileShape,
        tiles: dict[TransposedRead, Name],
        block: tuple[Sum, Sum],
        inside: tuple[Sum, Sum],
    ) -> None:
        """Read neighbours of a tile by rows of the operands, which are columns of the result."""
        body, width, edge = self.body, tile.width, tile.edge
        (down, across), (r, c) = block, inside
        rows = body.let("s64", "from_row", indexed(down * (edge // width) + c))
        column = body.let("s64", "from_column", indexed(across * edge + r))
        v = counter(self.lane, width)
        at = counter(rows.name, -(-self.sizes[0] // width)) * width + v
        with body.when(self._exists(tile, rows, column, 0)):
            with body.block() as statements:
                for read, name in tiles.items():
                    number = at + counter(column.name, self.sizes[1]) * read.along + read.rest
                    value = body.let(read.kind, read.pointer.name, item(read.pointer, number))
                    body.assign(item(name, r * tile.pitch(read) + c * width + v), value)
            body.add(*Pack(self.kernel, self.lane, width).around(statements))

    def _computes(
        self,
        tile: TileShape,
        block: tuple[Sum, Sum],
        inside: tuple[Sum, Sum],
        statements: Sequence[Statement],
    ) -> None:
        """Compute neighbours in a row of the result."""
        body, width, edge = self.body, tile.width, tile.edge
        (down, across), (r, c) = block, inside
        body.add(
            Let("s64", self.row, indexed(down * edge + r)),
            Let("s64", self.column, indexed(across * (edge // width) + c)),
        )
        with body.when(self._exists(tile, Name(self.column), Name(self.row), 1)):
            body.add(*Pack(self.kernel, self.lane, width).around(statements))

    def _exists(self, tile: TileShape, vector: Name, other: Name, side: int) -> Expr | None:
        """The condition that there are elements of a vector along a side, where tiles reach out."""
        sizes, edge = self.sizes, tile.edge
        limits = [(vector, sizes[side] // tile.width, sizes[side]), (other, *[sizes[1 - side]] * 2)]
        conditions = [binary("<", name, limit) for name, limit, size in limits if size % edge]
        return conjoined(conditions) if conditions else None

    def _computed(self, outer: ElementIndex, width: int) -> Sequence[Statement]:
        """The statements for the element at a row and a column, for one of a vector of columns."""
        lane, index = counter(self.lane, width), list(outer)
        row = counter(self.row, self.sizes[0])
        column = counter(self.column, -(-self.sizes[1] // width))
        for side, number in zip(self.sides, (row, column * width + lane), strict=True):
            for d, part in zip(side, delinear(number, [self.dims[d] for d in side]), strict=True):
                index[d] = part
        return live(self.write(self.kernel, tuple(index)))

    def _reads(
        self, statements: Sequence[Statement], outer: ElementIndex
    ) -> dict[Statement, TransposedRead]:
        """The loads of arrays that are read transposed, at indices that a block knows."""
        known = {name for number in outer for name in number.names}
        found = (
            (statement, transposed_read(statement, self.row, self.column, self.lane))
            for statement in statements
        )
        return {s: read for s, read in found if read and known.issuperset(read.rest.names)}
