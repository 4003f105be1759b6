"""Dot products of bytes, four of which are one number to a tile.

Processors multiply four unsigned bytes by four signed ones and add all that to a sum of 32 bits, in
every lane. So the input is copied, and the kernel packed, with four bytes of the innermost
contracted dimension in a number: see `add_bytes` in the prelude. Sums wrap around, and so are what
they are in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.expressions import Cast, Choose, Expr, Group, Literal, Name, binary, indexed, total_of
from codegen.kinds import Pointer
from codegen.opcodes.operands import operands_of
from emit_c.code import processor
from emit_c.contraction.packing import constant_numbers, packed_constant
from emit_c.contraction.product import TiledProduct
from emit_c.contraction.tiles import FLIPPED, has_offset
from emit_c.contraction.tiling import Tiling
from hlo.support import machine
from hlo.types.element_type import S32
from hlo.types.limits import integer_range
from optimizer.analysis.indexing import Sum, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from codegen.elements.body import Body
    from emit_c.contraction.dims import ContractedDim, Dim
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# Bytes of a number, and contracted elements for which it is worth it to put them together: no
# program's C changes with 4 or 16.
EACH, LEAST = 4, 8


def have_quads(instr: Instruction) -> bool:
    """Whether a dot product is one of bytes, summed up in at most 32 bits, and not too short."""
    kinds = [o.shape.element_type for o in instr.operands]
    left, _ = operands_of(instr)
    return (
        processor.here().sums_bytes
        and instr.shape.element_type.is_integer
        and instr.shape.element_type.bits <= S32.bits
        and all(kind.is_integer and kind.bits <= S32.bits // EACH for kind in kinds)
        and bool(left.contracting)
        and left.sizes(left.contracting)[-1] >= LEAST
    )


class Quads(TiledProduct):
    """A dot product of bytes, as one of numbers that are four of them each.

    Attributes
    ----------
    signs : as of `Tile`, whose numbers are the input's, and whose vectors are the kernel's.
    each, number_type : elements of a number, and its type.

    Parameters
    ----------
    whole : whether it is made of tiles that registers hold whole; an input whose rows are innermost
        is read where it is then.
    """

    each, number_type = EACH, S32

    def __init__(
        self, body: Body, instr: Instruction, *, swapped: bool, whole: bool = False
    ) -> None:
        self._whole = whole
        super().__init__(body, instr, self.number_type, None, swapped=swapped)

    def _plan(self) -> None:
        """Lay the input's copy out: quads of the innermost contracted dimension are innermost."""
        operand, self.signs = self.input, self._told_signs()
        self.order = (*operand.batch, *operand.free, *operand.contracting)
        self.copied = not self._is_there
        if self.copied and self._line * S32.bytes % processor.here().caches.aliased == 0:
            self.padding = machine.CACHE_LINE // S32.bytes
        self.tiling = self._tiling()

    def _told_signs(self) -> str:
        signs = _signs(self.input.instr, self.kernel.instr)
        return signs.upper() if self._whole else signs

    @property
    def _is_there(self) -> bool:
        """Whether the input lies in memory as tiles can read it."""
        instr = self.input.instr
        rows = self.order == tuple(range(instr.shape.rank)) and self._depth % self.each == 0
        is_whole = instr.shape.element_type.bits == S32.bits // self.each
        return self._whole and rows and is_whole and isinstance(self.body.pointers_of(instr), Name)

    @property
    def is_possible(self) -> bool:
        """Whether vectors are full of the kernel's numbers, and the input's are single ones."""
        lane, size = self.tiling.lane, self.tiling.lanes * S32.bytes
        full = lane.feature > 0 and not lane.input and size == processor.here().vector_bytes
        return full and (not self._whole or self.tiling.fits_whole_tiles)

    @property
    def _sizes(self) -> Sequence[int]:
        sizes = list(self.input.instr.shape.dims)
        sizes[self.input.contracting[-1]] = -(-self._depth // self.each)
        return sizes

    @property
    def _depth(self) -> int:
        """Elements of the dimension of which some are put together."""
        return self.input.instr.shape.dims[self.input.contracting[-1]]

    def _cut(self, dims: Sequence[Dim], steps: Sequence[ContractedDim]) -> Tiling:
        return Tiling(dims, steps, self.kind, signs=self.signs)

    def _of_input(self, at: Index) -> Expr:
        """Four bytes of the input; after its end it does not matter which."""
        quad = self._quad(self.input.instr, at, self.input.contracting[-1])
        word = Group(total_of(quad, "|"))
        return Cast("s32", word ^ FLIPPED if has_offset(self.signs) else Group(word))

    def number(self, feature: Sum, steps: Index) -> Expr:
        """Four bytes of the kernel; after its end there are zeros."""
        d, index = self.kernel.contracting[-1], self._kernel_index(feature, steps)
        quad = self._quad(self.kernel.instr, index, d)
        for k, byte in enumerate(quad):
            number = index[d] * EACH + k
            if number.high >= self._depth:
                inside = binary("<", indexed(number), self._depth)
                quad[k] = Group(Choose(inside, byte, Literal(0)))
        return Cast("s32", Group(total_of(quad, "|")))

    def _quad(self, instr: Instruction, at: Index, d: int) -> list[Expr]:
        """Four neighbours along a dimension, whose index counts quads, as parts of an u32."""
        last, parts = self._depth - 1, list[Expr]()
        for k in range(EACH):
            number = at[d] * EACH + k
            if number.high > last:
                here = indexed(number)
                nearest = Choose(binary("<", here, last), here, Literal(last))
                number = unknown(self.body.let("s64", "number", nearest).name, 0, last)
            byte = self.body.element(instr, (*at[:d], number, *at[d + 1 :]))
            part = Cast("u32", Cast("u8", byte))
            parts.append(part << 8 * k if k else part)
        return parts

    def kernel_at_hand(self) -> Expr | None:
        """The kernel that is packed already; None if it must be packed."""
        numbers, kernel = constant_numbers(self.body, self.kernel.instr), self.kernel
        if numbers is None:
            return None
        order = (*kernel.batch, *kernel.free, *kernel.contracting)
        rows = self._stored(numbers.transpose(order))
        behind = [(0, 0)] * (rows.ndim - 1) + [(0, -self._depth % self.each)]
        words = np.ascontiguousarray(np.pad(rows, behind)).view("<i4")
        features = max(1, rows.size // max(1, kernel.depth))
        words = words.reshape(features, -1)
        packed = packed_constant(self.body, self.tiling, words, kernel.instr, S32)
        return packed if self.kind is S32 else Cast(Pointer(self.kind.name, const=True), packed)

    def _stored(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The elements of a constant as words have them."""
        return numbers.astype(np.int32).astype(np.uint8)


def _signs(numbers: Instruction, vectors: Instruction) -> str:
    """The signedness as which bytes of two operands are read: one kind if neither can be the other.

    All numbers of four bits fit into bytes of both kinds.
    """
    low, high = integer_range(numbers.shape.element_type)
    least, most = integer_range(vectors.shape.element_type)
    half = 1 << 7
    if low >= 0 and most < half:
        return "us"
    if high < half and least >= 0:
        return "su"
    return "uu" if low >= 0 else "ss"
