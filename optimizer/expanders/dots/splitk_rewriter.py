"""Cuts the long sums of a dot into pieces, so that more processors have something to do.

dot(f32[m,k] x, f32[k,n] y)   =>   reduce(f32[s,m,n] dot(f32[m,s,k/s] x, f32[s,k/s,n] y)) by add

The pieces are a batch. Where k is no multiple of s, the last one is padded with zeros.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2
from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.dots.dot_decomposer import free_dims
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import folded, number, padded, size_of, to_dims, to_type, wide
from optimizer.expanders.precision.operand_upcaster import fits
from optimizer.gpu.device import H200

if TYPE_CHECKING:
    from hlo.instruction import Instruction

# XLA's numbers. Operations for 32 bytes of memory, below which a dot waits for memory.
BALANCED = 240
# Pieces are no shorter, where a dot waits for memory and where it waits for arithmetic.
SHORTEST, SHORTEST_OF_MANY = 768, 1220
MOST_PIECES = 128
# Elements of the result that one processor computes.
TILE = (64, 128)


@expander(
    "splitk-rewriter", "dot", promise=ROUNDING, xla="xla/service/gpu/transforms/splitk_rewriter.cc"
)
def split_sums(site: ExpansionSite, *, cores: int = H200.multiprocessors) -> Instruction | None:
    """Splits dots that have few results, but long sums.

    Dots with batch dimensions stay as they are: a batch is what a dot is split into. The constants
    are XLA's.

    Parameters
    ----------
    cores : processors of the device; an H200 has 132.
    """
    pieces = pieces_of(site.instr, cores) if can_be_split(site.instr) else 1
    return split(site, pieces) if pieces > 1 else None


def can_be_split(dot: Instruction) -> bool:
    """Whether a dot has one dimension to split, and is the sum of its pieces."""
    attrs, target = DotDims.of(dot), wide(dot).shape.element_type
    plain = len(attrs.lhs_contracting_dims) == 1 and not attrs.lhs_batch_dims
    return plain and all(fits(operand.shape.element_type, target) for operand in dot.operands)


def pieces_of(dot: Instruction, cores: int) -> int:
    """Into how many pieces to cut the sums of a dot; a power of two."""
    attrs, (lhs, rhs) = DotDims.of(dot), dot.operands
    m, n = (
        size_of([x.shape.dims[d] for d in free_dims(x, used)])
        for x, used in ((lhs, attrs.lhs_contracting_dims), (rhs, attrs.rhs_contracting_dims))
    )
    k = lhs.shape.dims[attrs.lhs_contracting_dims[0]]
    bits = 8 * (lhs.shape.bytes + rhs.shape.bytes + dot.shape.bytes)
    if not bits or 256 * m * n * k // bits < BALANCED:
        return min(MOST_PIECES, 1 << ceil(log2(max(1, k // SHORTEST))))
    tiles = ceil(m / TILE[0]) * ceil(n / TILE[1])
    most = 1 << int(log2(max(1, k // SHORTEST_OF_MANY)))
    return 1 << ceil(log2(min(most, ceil((cores + cores // 2) / tiles))))


def split(site: ExpansionSite, pieces: int) -> Instruction:
    """The sum of a batch of dots, each of one piece."""
    instr = site.instr
    attrs, (lhs, rhs) = DotDims.of(instr), instr.operands
    (left,), (right,) = attrs.lhs_contracting_dims, attrs.rhs_contracting_dims
    total = wide(instr).shape.element_type
    parts = instr.with_(
        operands=(cut_up(lhs, left, pieces), cut_up(rhs, right, pieces)),
        attrs=replace(
            attrs,
            lhs_batch_dims=(left,),
            rhs_batch_dims=(right,),
            lhs_contracting_dims=(left + 1,),
            rhs_contracting_dims=(right + 1,),
        ),
        shape=instr.shape.with_type(total).with_dims((pieces, *instr.shape.dims)),
    )
    added = folded(parts, number(0, total), (0,), site.binary("add", total))
    return to_type(added, instr.shape.element_type)


def cut_up(x: Instruction, axis: int, pieces: int) -> Instruction:
    """An array with a dimension cut into pieces, which are a dimension in front of it."""
    missing = -x.shape.dims[axis] % pieces
    if missing:
        x = padded(x, number(0, x.shape.element_type), axis, 0, missing)
    dims = x.shape.dims
    return to_dims(x, (*dims[:axis], pieces, dims[axis] // pieces, *dims[axis + 1 :]))
