"""Dot products of bf16 by AVX512-BF16's VDPBF16PS, which multiplies pairs of numbers.

In each lane, the instruction multiplies two bf16 by two others, and adds both products to a sum of
f32: twice as many products in a cycle as of f32. A tile reads two neighbours along the contracted
dimension as one number, as `emit_c.contraction.quads` reads four bytes. The instruction takes
subnormal numbers for zeros, so modules that keep these do not use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.expressions import (
    Cast,
    Choose,
    Expr,
    Group,
    Literal,
    Load,
    binary,
    indexed,
    item,
)
from codegen.kinds import Pointer
from codegen.opcodes.bits import joined_parts
from codegen.opcodes.operands import operands_of
from codegen.statements import Let
from emit_c.code import processor
from emit_c.contraction.packing import constant_numbers
from emit_c.contraction.quads import Quads
from emit_c.contraction.tiles import PAIRS
from hlo.types.element_type import BF16, F32
from optimizer.analysis.indexing import Sum, unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

LEAST_DEPTH = 64
"""Measured: the least number of contracted elements for which pairs pay, and sums of integers in
f32. At 16, a product of pairs of 1024 x 16 x 16 takes 1.5 times as long, at 32 one of 32 cubed 1.06
times; 64 cubed takes 0.8."""


def have_pairs(body: Body, instr: Instruction) -> bool:
    """Whether a dot product is one of bf16, summed up in f32, and not too short."""
    left, _ = operands_of(instr)
    return (
        processor.here().sums_pairs
        and body.writer.flushes
        and instr.shape.element_type in (BF16, F32)
        and all(operand.shape.element_type is BF16 for operand in instr.operands)
        and bool(left.contracting)
        and left.sizes(left.contracting)[-1] >= LEAST_DEPTH
    )


class FloatPairs(Quads):
    """A dot product whose tiles read pairs of bf16, neighbours along the contracted dimension."""

    each, number_type = 2, F32

    def _told_signs(self) -> str:
        return PAIRS.upper() if self._whole else PAIRS

    @property
    def is_possible(self) -> bool:
        """Whether vectors are full of the kernel's numbers, and a constant is the kernel."""
        known = constant_numbers(self.body, self.input.instr) is not None
        return super().is_possible and not known

    def _of_input(self, at: Index) -> Expr:
        """Two numbers of the input; after its end there are zeros, as what is there may be NaN."""
        return self._pair(self.input.instr, at, self.input.contracting[-1])

    def number(self, feature: Sum, steps: Index) -> Expr:
        """Two numbers of the kernel; after its end there are zeros."""
        at = self._kernel_index(feature, steps)
        return self._pair(self.kernel.instr, at, self.kernel.contracting[-1])

    def _pair(self, instr: Instruction, at: Index, d: int) -> Expr:
        """Two neighbours along a dimension, whose index counts pairs, in the bits of an f32."""
        word = self._word(instr, at, d)
        if word is not None:
            return word
        last, parts = self._depth - 1, list[Expr]()
        for k in range(self.each):
            number = place = at[d] * self.each + k
            if number.high > last:
                here = indexed(number)
                nearest = Choose(binary("<", here, last), here, Literal(last))
                place = unknown(self.body.let("s64", "number", nearest).name, 0, last)
            value = self.body.element(instr, (*at[:d], place, *at[d + 1 :]))
            if number.high > last:
                value = Group(
                    Choose(binary("<=", indexed(number), last), value, Literal(0.0, "f32"))
                )
            parts.append(value)
        return joined_parts(self.body, parts, BF16, F32)

    def _word(self, instr: Instruction, at: Index, d: int) -> Expr | None:
        """Both by one load, where they lie side by side in memory; so squares of them are moved."""
        if self._depth % self.each:
            return None
        with self.body.block() as statements, self.body.watched() as trace:
            for k in range(self.each):
                self.body.element(instr, (*at[:d], at[d] * self.each + k, *at[d + 1 :]))
        values = [s.value if isinstance(s, Let) else None for s in statements]
        pointers = [v.pointer for v in values if isinstance(v, Load)]
        # Each element is loaded and widened, and nothing else is done.
        if (len(values), len(trace.loads), len(pointers)) != (2 * self.each, self.each, self.each):
            return None
        (first, second), outer = trace.loads, self.body.writer.trace
        factors = (first.constant, *(factor for _, factor in first.terms))
        if second != first + 1 or any(f % self.each for f in factors) or len(set(pointers)) > 1:
            return None
        terms = tuple((atom, factor // self.each) for atom, factor in first.terms)
        number = Sum(first.constant // self.each, terms)
        if outer:
            outer.loads.append(number)
        words = Group(Cast(Pointer("f32", const=True), pointers[0]))
        return self.body.let("f32", "pair", item(words, number))

    def _stored(self, numbers: NDArray[Any]) -> NDArray[Any]:
        return numbers.view(np.uint16)
