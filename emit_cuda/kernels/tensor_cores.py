"""Products of bf16, f16 and s8 on tensor cores: a warp multiplies 16 x 16 in one instruction.

A block of eight warps has a tile of 64 x 64 sums, of which each warp has two parts of 16 x 16 in
registers. Operands come into shared memory as they are stored, without a conversion. Products of
floats are exact in f32, in which they are added up, in an order and with a rounding that the
hardware does not tell; products of s8 are added up in s32, exactly. The sums meet in shared memory
for the epilogue.

References
----------
NVIDIA, *CUDA C++ Programming Guide*, Warp Matrix Functions; *PTX ISA*, `wmma.load`, which asks that
a row or column of 16 numbers begins at a multiple of its bytes.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from codegen.elements.types import wide
from codegen.expressions import Expr, Group, Literal, Name, Op, item
from emit_cuda.kernels.folding import BARRIER, WARP
from emit_cuda.kernels.strips import added
from emit_cuda.kernels.tiles import DEEP, SIDE, Size, Tiles

if TYPE_CHECKING:
    from collections.abc import Generator

    from codegen.elements.kernel import Kernel
    from emit_cuda.kernels.products import Product
    from optimizer.analysis.indexing import Index, Sum

# So ends the kind of a launch that uses them.
ON_TENSOR_CORES = " on tensor cores"
# Bytes at multiples of which they load and store parts of a tile.
ALIGNED = 32
# Types that they take, with those of the sums; the least rows and columns that fill most of a tile.
TYPES, LEAST = {"bf16": "f32", "f16": "f32", "s8": "s32"}, 32
# Sums that a block has, along a side, and parts of 16 x 16 of each warp.
WIDTH, PARTS = 64, 2


def fits(product: Product) -> bool:
    """Whether tensor cores multiply the types of a product, and have enough work.

    Holes are no zeros there: those would be multiplied by infinities.
    """
    kinds = {operand.shape.element_type.name for operand in product.dot.operands[:2]}
    enough = min(product.rows, product.columns) >= LEAST and product.depth >= DEEP
    supported = len(kinds) == 1 and TYPES.get(kinds.pop()) == product.type.name
    return enough and supported and not product.has_holes


class TensorCores(Tiles):
    """Writes the kernel of a product of narrow floats."""

    def __init__(self, kernel: Kernel, product: Product) -> None:
        super().__init__(kernel, product, Size(WIDTH // SIDE, WIDTH // SIDE, 1.0))
        self.type = product.dot.operands[0].shape.element_type
        # Whole vectors, as the instruction asks for; four banks further each.
        self.pitch, self.sum_pitch = WIDTH + 16 // self.type.bytes, WIDTH + 4
        self.pitches = self.pitch, self.pitch
        self.sum_kind = wide(product.type)
        self.tile_kind, self.nothing = self.type.name, Literal(0)

    def value(self, side: int, index: Index) -> Expr:
        """An element of an operand as it is stored."""
        operand = self.product.dot.operands[side]
        return self.body.stored(self.type, self.body.element(operand, index))

    def begin(self) -> None:
        """Declare the sums, which are zero."""
        body = self.body
        self.y = body.let("s64", "y", Name("threadIdx.x") / SIDE)
        self.x = body.let("s64", "x", Name("threadIdx.x") % SIDE)
        self.parts = body.variable(f"{self.sum_kind}_16x16", "parts", size=PARTS)
        with self._each_part() as (_, part):
            body.call(f"clear_{self.sum_kind}_16x16", part)
        warp = Name("threadIdx.x") / WARP
        self.row = body.let("s64", "part_row", warp / PARTS * 16)
        self.column = body.let("s64", "part_column", warp % PARTS * (16 * PARTS))

    def multiply(self) -> None:
        """Add the products of two tiles."""
        left, right = (strip.array for strip in self.strips)
        buffer = self.buffer * (DEEP * self.pitch)
        with self._each_part() as (p, part):
            here = self.column + p * 16
            ends = item(left, buffer + self.row), item(right, buffer + here)
            places = (Op("&", (end,)) for end in ends)
            self.body.call(f"multiply_tiles_{self.type}", part, *places, self.pitch)

    def end(self) -> None:
        """Let the sums meet in shared memory."""
        body = self.body
        self.sums = Name(body.name("sums"))
        self.shared.append((self.sum_kind, self.sums.name, WIDTH * self.sum_pitch))
        with self._each_part() as (p, part):
            at = Group(self.row * self.sum_pitch) + self.column + p * 16
            place = Op("&", (item(self.sums, at),))
            body.call(f"store_{self.sum_kind}_16x16", place, part, self.sum_pitch)
        body.add(BARRIER)

    @contextmanager
    def _each_part(self) -> Generator[tuple[Name, Expr]]:
        """Statements for each part of a warp: its number, and its sums."""
        with self.body.loop("p", PARTS, unroll=True) as p:
            yield p, item(self.parts, p)

    @property
    def aligned(self) -> int:
        """Bytes at multiples of which parts of a tile are loaded and stored."""
        return ALIGNED

    def total(self, m: Sum, h: Sum, n: Sum) -> Expr:
        """One sum of a thread's own."""
        row = added(self.y * self.group, m // self.group * (SIDE * self.group) + m % self.group)
        column = added(self.x * self.group, h * (SIDE * self.group) + n)
        return item(self.sums, Group(row) * self.sum_pitch + column)
