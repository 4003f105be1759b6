"""A schedule of loops that read an array transposed: rows are read as they lie, and written so.

Where neighbours of the result come from elements far apart in an operand, a warp would read one of
each sector of memory. So the loops are reordered and coalesced to rows and columns, and a block
computes a tile of them. First the block reads the tile's elements of such operands, by rows of the
operand, into shared memory. Then it computes the tile by rows of the result, with the elementwise
work around the transposes, and reads all other operands in place. The rows in shared memory are one
element longer, so that threads which read columns ask different banks.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/transpose.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import (
    BLOCK_X,
    THREAD_X,
    THREAD_Y,
    Group,
    Name,
    binary,
    conjoined,
    indexed,
    item,
)
from codegen.kinds import number_of
from codegen.schedule.coalesce import coalesce
from codegen.schedule.interchange import reorder
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Staged, StagedElement, granted
from codegen.schedule.order import bind
from codegen.schedule.strip_mine import strip_mine
from codegen.schedule.trace import applied
from codegen.statements import For, Let, LocalVariable, renamed
from emit_cuda.grids.groups import WAVE
from emit_cuda.grids.stages import SHARED_BLOCK, SHARED_BYTES, WARP
from emit_cuda.loops.packs import Pack
from emit_cuda.loops.transposed_reads import TransposedRead, transposed_read, transposed_sides
from optimizer.analysis.indexing import Sum, counter, delinear

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from codegen.expressions import Expr
    from codegen.statements import Statement
    from emit_cuda.grids.kernel import CudaKernel

# Rows of a block's threads.
ROWS = SHARED_BLOCK // WARP
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

    def staged(self, tile: Name, read: TransposedRead) -> Staged:
        """The claim that a row of the result finds in a tile what is copied by columns."""
        width, names = self.width, ("r", "c", "v")
        counters = dict(zip(names, map(range, (self.edge, self.edge // width, width)), strict=True))
        r, c, v = map(Name, names)
        wide, pitch = c * width + v, self.pitch(read)
        return Staged(
            tile.name,
            StagedElement(r * pitch + wide, (wide, r), counters),
            StagedElement(Group(wide) * pitch + r, (r, wide), counters),
            {"r": wide, "c": r / width, "v": r % width},
        )


def transposed_by_tiles(kernel: CudaKernel, nest: For) -> For:
    """The loops over all elements of a result as a loop over tiles, on the blocks of a grid.

    Raises
    ------
    IllegalError
        if they read nothing transposed, or if loops are as good.
    """
    loops = [nest]
    while isinstance(inner := loops[-1].body[0], For) and inner.parallel:
        loops.append(inner)
    sides = transposed_sides(loops)
    if sides is None:
        raise IllegalError("nothing is read transposed")
    rows, columns = ([loops[d].name for d in side] for side in sides)
    others = [loop.name for loop in loops if loop.name not in {*rows, *columns}]
    loop, around = reorder(nest, [*others, *rows, *columns]), list[For]()
    for _ in others:
        around.append(loop)
        loop = _inside(loop)
    loop = coalesce(loop, len(rows), kernel.body.name("row"))
    inner = coalesce(_inside(loop), len(columns), kernel.body.name("column"))
    return _TransposedTiles(kernel, around, loop.with_body([inner]), inner).blocks()


def _inside(loop: For) -> For:
    (inner,) = loop.body
    assert isinstance(inner, For)
    return inner


def _on_threads(loop: For) -> For:
    """Two loops on the threads of a block."""
    return bind(loop.with_body([bind(_inside(loop), THREAD_Y)]), THREAD_X)


class _TransposedTiles:
    """Writes the loop over tiles, whose threads are warps one above the other.

    Parameters
    ----------
    others : the loops around the one over rows.
    columns : the loop inside of it, around the statements for an element.
    """

    def __init__(self, kernel: CudaKernel, others: Sequence[For], rows: For, columns: For) -> None:
        self.kernel, self.body = kernel, kernel.body
        self.others, self.rows, self.columns = others, rows, columns
        self.row, self.column, self.lane = rows.name, columns.name, ""
        self.sizes = [LoopView(loop).trips or 0 for loop in (rows, columns)]

    def shape(self) -> TileShape:
        """A good size of a tile: of long rows, if that leaves blocks for all multiprocessors.

        Raises
        ------
        IllegalError
            if nothing is read transposed, or if no tile fits into shared memory.
        """
        names = [other.name for other in self.others]
        reads = dict.fromkeys(self._reads(self.columns.body, names).values())
        if not reads:
            raise IllegalError("what is read transposed depends on more than the block")
        least = min(read.bytes for read in reads)
        width = max(1, WORD // least)
        if any(n % width for n in self.sizes):
            width = 1
        for tile in (TileShape(width, 2), TileShape(width, 1)):
            edge = tile.edge
            fits = sum(r.bytes * edge * tile.pitch(r) for r in reads) <= SHARED_BYTES
            wanted = edge * least <= ROW_BYTES and prod(self._grid(tile)) >= WAVE
            if fits and (wanted or tile.parts == 1):
                return tile
        raise IllegalError("a tile does not fit into shared memory")

    def _grid(self, tile: TileShape) -> list[int]:
        """The tiles along the other loops, and along the rows and the columns."""
        around = [LoopView(other).trips or 0 for other in self.others]
        return [*around, *(-(-n // tile.edge) for n in self.sizes)]

    def blocks(self) -> For:
        """The loop over tiles."""
        body, tile = self.body, self.shape()
        grid, edge = self._grid(tile), tile.edge
        counted = body.name("block")
        *others, down, across = delinear(counter(counted, prod(grid)), grid)
        around = {s.name: indexed(n) for s, n in zip(self.others, others, strict=True)}
        statements = [renamed(s, around) for s in self._vectors(tile.width)]
        reads = self._reads(statements, {name for n in others for name in n.names})
        tiles = {r: Name(body.name("tile")) for r in dict.fromkeys(reads.values())}
        shared = [
            LocalVariable(number_of(r.kind), name.name, size=edge * tile.pitch(r))
            for r, name in tiles.items()
        ]

        def read(r: Sum, c: Sum) -> None:
            self._read(tile, tiles, (down, across), (r, c))

        def compute(r: Sum, c: Sum) -> None:
            element = c * tile.width + counter(self.lane, tile.width)
            changed = list(statements)
            for number, statement in enumerate(statements):
                if isinstance(statement, Let) and (read := reads.get(statement)):
                    at = element * tile.pitch(read) + r
                    changed[number] = replace(statement, value=item(tiles[read], at))
            self._computes(tile, (down, across), (r, c), changed)

        loops = [self._over_tile(tile, do) for do in (read, compute)]
        blocks = For(counted, prod(grid), (*shared, *loops), parallel=True)
        granted(*(tile.staged(name, read) for read, name in tiles.items()))
        reason = "a block has copied all that it reads transposed"
        applied(f"tile by {edge}, staged in shared memory", reason, self.rows, [blocks])
        return bind(blocks.with_body([*shared, *map(_on_threads, loops)]), BLOCK_X)

    def _over_tile(self, tile: TileShape, do: Callable[[Sum, Sum], None]) -> For:
        """Something for all rows of a tile, and for the columns or their vectors."""
        body = self.body
        lane, warp = body.name("lane"), body.name("warp")
        sizes = tile.edge // ROWS, tile.parts
        with body.block() as inside, body.loops(["j", "i"], sizes, unroll=True) as (j, i):
            do(counter(warp, ROWS) + j * ROWS, counter(lane, WARP) + i * WARP)
        rows = For(warp, ROWS, tuple(inside), parallel=True)
        return For(lane, WARP, (rows,), parallel=True)

    def _vectors(self, width: int) -> Sequence[Statement]:
        """The statements for an element; of several in a vector of columns, for one of them."""
        if width == 1:
            return self.columns.body
        vectors = _inside(strip_mine(self.body, self.columns, width, lambda v: [v], "v"))
        self.lane = vectors.name
        return vectors.body

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

    def _reads(
        self, statements: Sequence[Statement], known: Collection[str]
    ) -> dict[Statement, TransposedRead]:
        """The loads of arrays that are read transposed, at indices that a block knows."""
        reads = (
            (statement, transposed_read(statement, self.row, self.column, self.lane))
            for statement in statements
        )
        return {s: read for s, read in reads if read and set(read.rest.names) <= set(known)}
