"""Compares floats in total order by comparing integers.

compare(x, y), type=TOTALORDER   =>   compare(rank(x), rank(y))
                rank(x) = select(bits < 0, max - bits, bits),   bits = bitcast-convert(x)

The bits of positive floats, read as integers, are ordered as the floats are; those of negative
floats count the wrong way, and max - bits turns them around. That difference of a negative number
overflows, as it should: it is computed without sign.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import S32, S64, U32, U64
from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import bits_of, less, wide
from optimizer.rewriting.guards import is_floating
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import compare, p, x, y

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "comparison-expander",
    compare(x, y, p, type="TOTALORDER"),
    where=is_floating(x),
    xla="xla/hlo/transforms/expanders/comparison_expander.cc",
)
def total_order_by_integers(x: Instruction, y: Instruction, p: str) -> Instruction:
    """Replaces comparisons of floats in total order by comparisons of integers."""
    return make("compare", rank(wide(x)), rank(wide(y)), direction=p)


def rank(x: Instruction) -> Instruction:
    """Signed integers that are ordered as the floats are in total order."""
    signed, unsigned = (S32, U32) if x.shape.element_type.bits == 32 else (S64, U64)
    bits = bits_of(x, signed)
    largest = 2 ** (signed.bits - 1) - 1
    mirrored = bits_of(make("subtract", largest, bits_of(x, unsigned)), signed)
    return make("select", less(bits, 0), mirrored, bits)
