"""Compares floats in total order by comparing integers.

compare(x, y), type=TOTALORDER   =>   compare(rank(x), rank(y))
                rank(x) = select(bits < 0, max - bits, bits),   bits = bitcast-convert(x)

The bits of positive floats, read as integers, are ordered as the floats are; those of negative
floats count the wrong way, and max - bits turns them around. That difference of a negative number
overflows, as it should: it is computed without sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Compare
from hlo.types.element_type import S32, S64, U32, U64
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import bits_of, less, wide
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "comparison-expander", "compare", xla="xla/hlo/transforms/expanders/comparison_expander.cc"
)
def total_order_by_integers(site: ExpansionSite) -> Instruction | None:
    """Replaces comparisons of floats in total order by comparisons of integers."""
    attrs = Compare.of(site.instr)
    operands = site.instr.operands
    if attrs.type != "TOTALORDER" or not operands[0].shape.element_type.is_floating:
        return None
    ranks = [rank(wide(operand)) for operand in operands]
    return make("compare", *ranks, direction=attrs.direction)


def rank(x: Instruction) -> Instruction:
    """Signed integers that are ordered as the floats are in total order."""
    signed, unsigned = (S32, U32) if x.shape.element_type.bits == 32 else (S64, U64)
    bits = bits_of(x, signed)
    largest = 2 ** (signed.bits - 1) - 1
    turned = bits_of(make("subtract", largest, bits_of(x, unsigned)), signed)
    return make("select", less(bits, 0), turned, bits)
