"""Products in tiles whose threads have sums of their own, in registers.

Each of 16 x 16 threads adds up some products, in the order of the contraction. It reads the factors
of a column and of a row of them at once, so that 16 numbers from shared memory make 64 products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.types import literal
from codegen.expressions import THREAD_X, Apply, Cast, Expr, Group, Literal, Name, item
from codegen.kinds import Pointer, Vector
from codegen.opcodes.scalar import arithmetic
from codegen.walk import added, times
from emit_cuda.grids import tile_sizes
from emit_cuda.grids.accesses import SECTOR
from emit_cuda.grids.layouts import PaddedRows
from emit_cuda.grids.stages import SHARED_BYTES, WARP
from emit_cuda.grids.tile_sizes import SIDE, best
from emit_cuda.grids.tiles import Tiles
from emit_cuda.loops.vectors import BYTES
from hlo.types.element_type import C64, C128, ELEMENT_TYPES, F32, F64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_cuda.grids.strips import Strip
    from optimizer.analysis.indexing import Index, Sum

# Elements along the contraction that neighbouring threads read at least: a sector of f32.
LEAST_DEPTH = SECTOR // 4
# Tiles of each operand that lie in shared memory at once, where there is room: 2, or 1.
BUFFERS = 2
# The sum of a product and a number, rounded once for each product of parts.
FUSED = {
    F32: FUNCTIONS["__fmaf_rn"],
    F64: FUNCTIONS["__fma_rn"],
    C64: FUNCTIONS["multiply_add", C64],
    C128: FUNCTIONS["multiply_add", C128],
}
# Bytes of sums that a thread has at most, so that they stay in registers.
OWN_BYTES = 8 * 8 * 4
# Sums of a thread from which on the compiler must be told to take few registers.
MANY = 32


class ThreadTiles(Tiles):
    """Writes the kernel of a product of any type.

    Attributes
    ----------
    each : rows and columns of sums of each thread.
    """

    def choose(self) -> None:
        """Choose the size of tiles."""
        self.threads, self.least_depth, self.tile_kind = SIDE * SIDE, LEAST_DEPTH, self.kind
        self.nothing = literal(self.product.type, 0)
        self.buffers, self.most_shared = BUFFERS, SHARED_BYTES
        bytes_each = ELEMENT_TYPES[self.kind].bytes
        most = OWN_BYTES // bytes_each * SIDE * SIDE
        sizes = [s for s in tile_sizes.SIZES if s.rows * s.columns <= most]
        size, parts = best(self.product, sizes or tile_sizes.SIZES, bytes_each)
        self.sizes = size.rows, size.columns
        self.tile_depth = size.depth
        self.split(parts)
        self.each = size.rows // SIDE, size.columns // SIDE
        # Neighbours among a thread's rows and columns: as many as are read at once.
        whole = self.product.type.kind != "complex"
        most = max(1, BYTES // bytes_each) if whole else 1
        self.groups = min(most, self.each[0]), min(most, self.each[1])
        self.group = self.groups[1]
        # Rows of a tile begin at other banks, and stay aligned.
        sides = zip(self.sizes, self.groups, strict=True)
        self.layouts = [PaddedRows(self.tile_depth, *side) for side in sides]
        group = max(self.groups)
        self.aligned = group * bytes_each if group > 1 else 0
        self.copies = self.aligned == BYTES
        self.resident = 2 if self.each[0] * self.each[1] >= MANY else 1

    def value(self, side: int, index: Index) -> Expr:
        """An element of an operand, in the type of the sums."""
        return self.product.element(side, index)

    def begin(self) -> None:
        """Declare the sums, which are zero, and say which a thread has.

        A warp has 4 x 8 threads, which read 4 vectors of the left tile and 8 of the right one.
        """
        body, count = self.body, self.each[0] * self.each[1]
        thread, kind = THREAD_X, self.index_kind
        warp = Group(thread / WARP)
        self.y = body.let(kind, "y", warp / 2 * 4 + thread % WARP / 8)
        self.x = body.let(kind, "x", warp % 2 * 8 + thread % 8)
        self.sums = body.variable(self._vector(self.group), "sums", size=count // self.group)
        with body.loops(["s", "n"], [count // self.group, self.group], unroll=True) as (s, n):
            body.assign(part_of(self.sums, s, n, self.group), self.nothing)

    def _vector(self, group: int) -> str | Vector:
        """The type of neighbours that are read at once."""
        return self.kind if group == 1 else Vector(self.kind, group)

    def total(self, m: Sum, h: Sum, n: Sum) -> Expr:
        """One sum of a thread's own: in row `m`, the `n`th of group `h`."""
        return part_of(self.sums, m * (self.each[1] // self.group) + h, n, self.group)

    def multiply(self) -> None:
        """Add the products of two tiles."""
        body, (down, across) = self.body, self.groups
        rows, columns = self.each
        with body.loops(["k"], [self.tile_depth], unroll=True) as (k,):
            left, right = (
                self._factors(strip, k, own)
                for strip, own in zip(self.strips, (self.y, self.x), strict=True)
            )
            sizes = rows, columns // across, across
            with body.loops(["m", "h", "n"], sizes, unroll=True) as (m, h, n):
                total = self.total(m, h, n)
                factors = part_of(left, m // down, m % down, down), part_of(right, h, n, across)
                body.assign(total, self.sum(total, *factors))

    def _factors(self, strip: Strip, k: Sum, own: Name) -> Name:
        """A thread's factors of a row of a tile, as registers."""
        body, side, group = self.body, strip.side, self.groups[strip.side]
        count, pitch = self.each[side] // group, strip.layout.elements // self.tile_depth // group
        factors = body.variable(self._vector(group), f"factors_{side}", size=count)
        array = strip.array
        source = array if group == 1 else Cast(Pointer(self._vector(group), const=True), array)
        begin = own if self.buffer == Literal(0) else self.buffer * (self.tile_depth * pitch) + own
        with body.loops(["g"], [count], unroll=True) as (g,):
            body.assign(item(factors, g), item(source, added(begin, k * pitch + g * SIDE)))
        return factors

    def sum(self, total: Expr, left: Expr, right: Expr) -> Expr:
        """A sum and one more product."""
        kind = self.product.type
        if kind in FUSED:
            return Apply(FUSED[kind], (left, right, total))
        factors = [self.body.let(self.kind, "factor", factor) for factor in (left, right)]
        product = arithmetic("multiply", kind, *factors, wraps=False)
        return arithmetic(
            "add", kind, total, self.body.let(self.kind, "product", product), wraps=False
        )

    @property
    def loops(self) -> tuple[str, Sequence[int]]:
        """Loops over groups of rows and of columns, and the columns of a group."""
        return "mhn", (self.each[0], self.each[1] // self.group, self.group)

    def sum_at(self, numbers: Index, inner: Sum, width: int) -> tuple[Expr, Expr, Expr]:
        """The row of a sum, its column or the number of a vector of columns, and the sum."""
        (m, h), (down, across) = numbers, self.groups
        row = self.tile[0] * self.sizes[0] + times(self.y, down)
        column = self.tile[1] * (self.sizes[1] // width) + times(self.x, across // width)
        further = h * (SIDE * across // width) + (inner if width == 1 else 0)
        rows = m // down * (SIDE * down) + m % down
        return added(row, rows), added(column, further), self.total(m, h, inner)


def part_of(vectors: Name, number: Sum, part: Sum, group: int) -> Expr:
    """One number of several vectors; of single numbers, where a group is one."""
    vector = item(vectors, number)
    return vector if group == 1 else item(vector, part)
