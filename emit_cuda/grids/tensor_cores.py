"""Products of bf16, f16 and s8 on tensor cores, which multiply 16 x 16 numbers in an instruction.

A block of four warps or more has a tile of the result, of which each warp has a *warp tile*; its
sums stay in registers. Operands come into shared memory as they are stored, without a conversion:
where the index map proves that they lie side by side, 16 bytes are copied at once and past the
registers, several tiles ahead. Products of floats are exact in f32, in which they are added up, in
an order and with a rounding that the hardware does not tell; products of s8 are added up in s32,
exactly.

An H100 has an instruction by which four warps multiply 64 x 16 by 16 x 256 numbers of 2 bytes that
it reads from shared memory itself. The largest tiles are multiplied so there, and as elsewhere by
other GPUs: `multiply_tiles_bf16` of the prelude has both. Which sums a warp has is then for the
prelude to say. The instruction runs while the next tiles are awaited.

Of each row a lane has the sums of two neighbouring columns. Where the result has 2 bytes each, four
lanes exchange their sums before they are stored, so that each stores 16 bytes.

References
----------
NVIDIA, *PTX ISA*, Matrix Fragments for mma.m16n8k16 and mma.m16n8k32; `ldmatrix`; `cp.async`;
Asynchronous Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import THREAD_X, Cast, Expr, Group, Literal, Name, Op, apply, item
from codegen.kinds import Pointer, Vector
from codegen.walk import added, spelled_out, times
from emit_cuda.grids import tile_sizes
from emit_cuda.grids.layouts import SwizzledRows
from emit_cuda.grids.stages import WARP
from emit_cuda.grids.strips import Strip
from emit_cuda.grids.tile_sizes import best
from emit_cuda.grids.tiles import Tiles
from emit_cuda.loops.vectors import BYTES
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.image_layouts import LEAST
from optimizer.analysis.indexing import Sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.opcodes.matrix_products import Product
    from optimizer.analysis.indexing import Index

# Types that they take, with those of the sums.
TYPES = {"bf16": "f32", "f16": "f32", "s8": "s32"}
# The fewest rows or columns, of which there are more.
FEWEST = 2
# Bytes at multiples of which tiles begin: rows of 128 bytes, or eight of them.
ALIGNED, ALIGNED_FOR_WARPGROUPS = 128, 1024
# Rows and columns of a fragment, which an instruction multiplies; sums of it that a lane has: two
# neighbouring columns of each row, or eight after an exchange.
FRAGMENT, OF_LANE, COLUMNS, GATHERED = 16, 8, 2, 8
# A product that is less deep is not worth one.
LEAST_DEPTH = FRAGMENT
_ROW, _COLUMN = FUNCTIONS["row_of_fragment"], FUNCTIONS["column_of_fragment"]
# Waits for the products that were begun, but for so many of the last ones.
_WAIT_FOR_PRODUCTS = FUNCTIONS["wait_but_for_0_products"], FUNCTIONS["wait_but_for_1_products"]


def fits(product: Product) -> bool:
    """Whether tensor cores multiply the types of a product, and have enough work."""
    kinds = {operand.shape.element_type.name for operand in product.dot.operands[:2]}
    fewest, most = sorted((product.rows, product.columns))
    enough = fewest >= FEWEST and most >= LEAST and product.depth >= LEAST_DEPTH
    supported = len(kinds) == 1 and TYPES.get(kinds.pop()) == product.type.name
    return enough and supported


class TensorCores(Tiles):
    """Writes the kernel of a product on tensor cores."""

    on_tensor_cores = True

    def choose(self) -> None:
        """Choose the size of tiles: the one with the least time, if operands can be copied."""
        self.type = self.product.dot.operands[0].shape.element_type
        self.tile_kind, self.nothing = self.type.name, Literal(0)
        self._take(tile_sizes.WAITING)
        self.copies = True
        with self.body.block():
            self.copies = all(Strip(self, side, Name("tile")).copies for side in range(2))
        most = self.kernel.most_shared
        sizes = [s for s in tile_sizes.WARP_SIZES if s.shared_bytes <= most]
        if not self.product.in_memory:
            sizes = [s for s in sizes if not s.in_memory]
        if self.type.bytes == 1:
            sizes = [s for s in sizes if not s.in_warpgroups or s.columns > s.rows]
        if not self.copies or not sizes:
            sizes = [tile_sizes.WAITING]
        self._take(*best(self.product, sizes, ELEMENT_TYPES[self.kind].bytes))

    def _take(self, size: tile_sizes.WarpSize, parts: int = 1) -> None:
        """Use tiles of a size, and add up parts of each sum."""
        self.size, self.buffers, self.in_flight = size, size.buffers, size.in_flight
        self.sizes = size.rows, size.columns
        self.threads = WARP * size.warps[0] * size.warps[1]
        self.vector = BYTES // self.type.bytes
        self.tile_depth = self.least_depth = size.depth_bytes // self.type.bytes
        self.split(parts)
        self.layouts = [self._layout(side) for side in range(2)]
        self.aligned = ALIGNED_FOR_WARPGROUPS if size.in_warpgroups else ALIGNED
        self.resident, self.most_shared = 1, self.kernel.most_shared
        self.counts = size.warp_rows // FRAGMENT, size.warp_columns // FRAGMENT
        gathers = parts == 1 and self.root.shape.element_type.bytes == BYTES // GATHERED
        gathers = gathers and not self.counts[1] % 2 and not self.product.columns % GATHERED
        self.group = GATHERED if gathers else COLUMNS

    def _layout(self, side: int) -> SwizzledRows:
        """The layout of an operand's tiles: as in memory, but that bytes must lie side by side."""
        if self.type.bytes == 1 or self.product.contracted_last(side):
            return SwizzledRows(
                self.sizes[side], self.tile_depth, self.vector, contracted_last=True
            )
        return SwizzledRows(self.tile_depth, self.sizes[side], self.vector, contracted_last=False)

    def value(self, side: int, index: Index) -> Expr:
        """An element of an operand as it is stored."""
        operand = self.product.dot.operands[side]
        return self.body.stored(self.type, self.body.element(operand, index))

    def begin(self) -> None:
        """Declare the sums, which are zero, and say where a warp's tile is."""
        body, kind, size = self.body, self.index_kind, self.size
        thread = THREAD_X
        warp = Group(thread / WARP)
        self.lane = body.let(kind, "lane", thread % WARP)
        if not size.in_warpgroups:
            row = warp / size.warps[1] * size.warp_rows
            column = warp % size.warps[1] * size.warp_columns
            self.corner = body.let(kind, "warp_row", row), body.let(kind, "warp_column", column)
        count = self.counts[0] * self.counts[1]
        self.sums = body.variable(Vector(self.kind, OF_LANE), "sums", size=count)
        zero = Literal(0.0, "f32") if self.kind == "f32" else Literal(0)
        with body.loops(["s", "i"], [count, OF_LANE], unroll=True) as (s, i):
            body.assign(item(item(self.sums, s), i), zero)

    def wait_but_for(self, groups: int) -> None:
        """Wait for copies, but for the last ones."""
        super().wait_but_for(groups)
        if self.size.in_warpgroups:
            self.body.call(FUNCTIONS["show_copies"])

    def multiply(self) -> None:
        """Add the products of two tiles, 32 bytes along the contraction after the others."""
        body = self.body
        if self.size.in_warpgroups:
            tiles = [s.array + times(self.buffer, s.layout.elements) for s in self.strips]
            transposed = [int(not strip.layout.contracted_last) for strip in self.strips]
            function = FUNCTIONS["multiply_tiles", self.type]
            body.call(function, self.sums, *tiles, *transposed, self.size.columns)
            in_flight = self.in_flight if self.buffers > 1 else 0
            body.call(_WAIT_FOR_PRODUCTS[in_flight])
            return
        steps = self.size.depth_bytes // (2 * BYTES)
        self.own = [self._own(strip) for strip in self.strips]
        with body.loops(["step"], [steps], unroll=True) as (step,):
            fragments = [
                self._load(strip, own, step)
                for strip, own in zip(self.strips, self.own, strict=True)
            ]
            with body.loops(["p", "q"], self.counts, unroll=True) as (p, q):
                sums = item(self.sums, p * self.counts[1] + q)
                left, right = item(fragments[0], p), item(fragments[1], q)
                body.call(FUNCTIONS["multiply_fragments", self.type], sums, left, right)

    def finish(self) -> None:
        """Wait for the last products, and let lanes exchange sums that are stored together."""
        if self.in_flight and self.buffers > 1:
            self.body.call(_WAIT_FOR_PRODUCTS[0])
        if self.group == GATHERED:
            count = self.counts[0] * self.counts[1]
            self.body.call(FUNCTIONS["gather_columns", ELEMENT_TYPES[self.kind]], self.sums, count)

    def _own(self, strip: Strip) -> tuple[Expr, Expr]:
        """The row in shared memory whose address a lane gives, and which of two chunks.

        The four matrices of 8 x 16 bytes that are loaded at once are in the order in which the
        product's instruction takes them: of the left operand rows come first, of the right one the
        contraction.
        """
        lane = self.lane
        if (strip.side == 0) == strip.layout.contracted_last:
            return lane % FRAGMENT, lane / FRAGMENT
        return lane % 8 + lane / FRAGMENT * 8, lane / 8 % 2

    def _load(self, strip: Strip, own: tuple[Expr, Expr], step: Sum) -> Name:
        """The fragments of a tile that a warp multiplies."""
        body, side, layout = self.body, strip.side, strip.layout
        count, kind = self.counts[side], Vector(self.type.name, self.vector)
        fragments = body.variable(Vector("u32", 4), f"{strip.name}_fragments", size=count)
        stem = "load_fragments" if layout.contracted_last else "load_fragments_transposed"
        with body.loops(["p"], [count], unroll=True) as (p,):
            if layout.contracted_last:
                slow = added(self.corner[side] + own[0], p * FRAGMENT)
                quick = added(own[1], step * 2)
            else:
                slow = added(own[0], step * FRAGMENT)
                first = self.corner[side] / self.vector + own[1]
                quick = added(first, p * (FRAGMENT // self.vector))
            at = layout.vector_number(Group(slow), Group(quick))
            if self.buffer != Literal(0):
                at = self.buffer * (layout.elements // self.vector) + at
            source = item(Cast(Pointer(kind, const=True), strip.array), at)
            body.call(FUNCTIONS[stem], item(fragments, p), Op("&", (source,)))
        return fragments

    def _corner(self, p: Sum, q: Sum, number: Sum) -> tuple[Expr, Expr]:
        """The first row and column in a tile of a fragment of a warp's sums."""
        if self.size.in_warpgroups:
            at = spelled_out(number), Literal(self.size.columns)
            return apply(_ROW, *at), apply(_COLUMN, *at)
        row, column = self.corner
        return Group(added(row, p * FRAGMENT)), Group(added(column, q * FRAGMENT))

    @property
    def loops(self) -> tuple[str, Sequence[int]]:
        """Loops over a warp's fragments, or pairs of them, a lane's rows, and its columns."""
        if self.group == GATHERED:
            return "pqrn", (self.counts[0], self.counts[1] // 2, 2, GATHERED)
        return "pqrhn", (*self.counts, 2, 2, COLUMNS)

    def sum_at(self, numbers: Index, inner: Sum, width: int) -> tuple[Expr, Expr, Expr]:
        """The row of a sum, its column or the number of a vector of columns, and the sum."""
        p, q, r = numbers[:3]
        (tile_row, tile_column), group = self.tile, self.group
        if group == GATHERED:
            q, h = q * 2 + inner // 4, inner // 2 % 2
            first, further = p * self.counts[1] + numbers[1] * 2, Sum(0)
        else:
            h = numbers[3]
            first, further = p * self.counts[1] + q, h * (FRAGMENT // 2 // width)
        row_in_tile, column_in_tile = self._corner(p, numbers[1] * (group // 4 or 1), first)
        row = tile_row * self.sizes[0] + self.lane / 4 + row_in_tile
        if width > 1:
            column = tile_column * (self.sizes[1] // group) + column_in_tile / group + self.lane % 4
        else:
            column = tile_column * self.sizes[1] + column_in_tile + self.lane % 4 * group
            further = further + inner
        number = p * self.counts[1] + q
        total = item(item(self.sums, number), h * 4 + r * 2 + inner % 2)
        return added(row, r * 8), added(column, further), total
