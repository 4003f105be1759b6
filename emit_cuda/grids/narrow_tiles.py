"""Products with few columns or few rows, whose threads share the contraction as in a reduction.

    x[100000,1024] @ w[1024,10]: 8 threads have 4 rows of x, and 10 sums of each.

The large operand is read once, so its bytes bound the time. Each thread reads vectors of that
operand straight into registers, and multiplies them by all columns of the small operand, which
are in shared memory, along the contraction too. At last neighbouring threads add up their sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from codegen.elements.types import literal
from codegen.expressions import Cast, Name, binary, grouped, item
from codegen.kinds import Pointer, Vector
from codegen.opcodes.scalar import arithmetic
from codegen.walk import added, spelled_out
from emit_cuda.grids.folding import shuffled
from emit_cuda.grids.layouts import PaddedRows
from emit_cuda.grids.stages import SHARED_BLOCK, SHARED_BYTES
from emit_cuda.grids.strips import Strip
from emit_cuda.grids.thread_tiles import OWN_BYTES, ThreadTiles, part_of
from emit_cuda.grids.tile_sizes import MULTIPROCESSORS, TileSize, best
from emit_cuda.loops.vectors import BYTES
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Sum

if TYPE_CHECKING:
    from codegen.expressions import Expr
    from optimizer.analysis.indexing import Index

T = TypeVar("T")
# Columns of the small operand at most: its tile has room for so many.
MOST = 16
# Threads along the contraction, and vectors of each in a tile.
LANES, VECTORS = 8, 2
# Blocks from which on most multiprocessors have one; smaller tiles are more.
LEAST_BLOCKS = MULTIPROCESSORS // 2
# Rows of the large operand that a thread has at most.
MOST_ROWS = 4
# Products a second of a multiprocessor, of tiles with `MOST` columns, in 10^9.
RATE = 130
# The types that threads can hand each other as they are.
TYPES = ("f32", "f64", "s32", "u32", "s64", "u64")


class NarrowTiles(ThreadTiles):
    """Writes the kernel of a product with few columns, or rows.

    Attributes
    ----------
    large : the side of the large operand.
    """

    def choose(self) -> None:
        """Choose the size of tiles."""
        product, size = self.product, ELEMENT_TYPES[self.kind].bytes
        self.large = 0 if product.columns <= product.rows else 1
        few = min(product.rows, product.columns)
        rows = max(1, min(MOST_ROWS, OWN_BYTES // (few * size)))
        self.each, self.group = self._by_side(rows, few), 1
        self.tile_kind, self.nothing = self.kind, literal(product.type, 0)
        self.threads, self.vector = SHARED_BLOCK, BYTES // size
        self.least_depth = LANES * self.vector
        self.tile_depth = VECTORS * self.least_depth
        self.sizes = self._by_side(SHARED_BLOCK // LANES * rows, MOST)
        self.layouts = [
            PaddedRows(n, self.tile_depth, self.vector, contracted_last=True) for n in self.sizes
        ]
        self.split(best(product, [TileSize(*self.sizes, RATE)], size)[1])
        self.buffers, self.most_shared, self.copies = 2, SHARED_BYTES, False
        self.aligned, self.resident = BYTES, 2

    def fits(self) -> bool:
        """Whether there are few columns, and the large operand is read along the contraction."""
        product = self.product
        many, few = self._by_side(product.rows, product.columns)
        deep = product.depth >= 2 * self.tile_depth and product.contracted_last(self.large)
        if self.kind not in TYPES or few > MOST or many < self.sizes[self.large] or not deep:
            return False
        tiles = product.batch * -(-many // self.sizes[self.large])
        if tiles * self.parts < LEAST_BLOCKS:
            return False
        with self.body.block():
            return Strip(self, self.large, Name("tile")).width == self.vector

    def _by_side(self, large: T, small: T) -> tuple[T, T]:
        """Order a pair (large operand, small operand) as (left, right)."""
        return (small, large) if self.large else (large, small)

    def make_strips(self) -> None:
        """Only tiles of the small operand come into shared memory."""
        self.own, small = (Strip(self, s, self.tile[s]) for s in self._by_side(0, 1))
        self.strips = [small]
        for strip in (self.own, small):
            strip.declare()

    def read_ahead(self, batch: Sum, tile_k: Expr) -> None:
        """Read a thread's elements of the large operand."""
        self.own.fetch(batch, self.at(tile_k))

    def multiply(self) -> None:
        """Add the products of a thread's elements by all of the small operand."""
        body, width, (small,), large = self.body, self.vector, self.strips, self.large
        array = Cast(Pointer(Vector(self.kind, width), const=True), small.array)
        sizes = self.own.passes[0], self.each[1 - large]
        with body.loops(["e", "c"], sizes, unroll=True) as (e, c):
            k = grouped(added(self.own.own[0], e * LANES))
            at = small.in_buffer(self.buffer, small.layout.vector_number(spelled_out(c), k), width)
            vector = body.let(Vector(self.kind, width), "factors", item(array, at))
            with body.loops(["r", "v"], [self.each[large], width], unroll=True) as (r, v):
                total = self.total(*self._by_side(r, c), Sum(0))
                own = part_of(self.own.waiting, e * self.each[large] + r, v, width)
                body.assign(total, self.sum(total, *self._by_side(own, item(vector, v))))

    def finish(self) -> None:
        """Add up the sums of neighbouring threads; the first of them has the result."""
        body, kind, step = self.body, self.product.type, LANES // 2
        while step:
            with body.loops(["s"], [self.each[0] * self.each[1]], unroll=True) as (s,):
                total = item(self.sums, s)
                value = shuffled("down", self.kind, total, step, LANES)
                other = body.let(self.kind, "other", value)
                body.assign(total, arithmetic("add", kind, total, other, wraps=False))
            step //= 2

    def store_all(self, batch: Sum, output: Name) -> None:
        """Store the sums, which the first of neighbouring threads have."""
        with self.body.when(binary("==", self.own.own[0], 0)):
            super().store_all(batch, output)

    def sum_at(self, numbers: Index, inner: Sum, width: int) -> tuple[Expr, Expr, Expr]:
        """The row of a sum, its column, and the sum; threads have no neighbours."""
        assert width == 1, "sums of a thread are no neighbours"
        large, (m, h) = self.large, numbers
        begins = [self.tile[s] * self.sizes[s] for s in (0, 1)]
        begins[large] = begins[large] + self.own.own[1]
        row, column = (
            added(begin, number * step)
            for begin, number, step in zip(
                begins, (m, h), self._by_side(SHARED_BLOCK // LANES, 1), strict=True
            )
        )
        return row, column, self.total(m, h, inner)
