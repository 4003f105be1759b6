"""Makes one dimension of a dot's batch dimensions, where these are neighbours.

dot(f32[2,3,m,k] x, f32[2,3,k,n] y)
    =>   reshape(dot(f32[6,m,k] reshape(x), f32[6,k,n] reshape(y)))
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import size_of, to_dims

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "dot_dimension_merger", "dot", promise=ROUNDING, xla="xla/service/dot_dimension_merger.cc"
)
def merge_batch(site: ExpansionSite) -> Instruction | None:
    """Merges batch dimensions.

    The dot of reshaped operands, reshaped; None unless both have the batch in one piece.
    """
    instr = site.instr
    attrs, (lhs, rhs) = DotDims.of(instr), instr.operands
    sides = (attrs.lhs_batch_dims, attrs.rhs_batch_dims)
    count = len(sides[0])
    if count < 2 or any(side != tuple(range(side[0], side[0] + count)) for side in sides):
        return None
    (left, *_), (right, *_) = sides
    product = instr.with_(
        operands=(joined_at(lhs, left, count), joined_at(rhs, right, count)),
        attrs=replace(
            attrs,
            lhs_batch_dims=(left,),
            rhs_batch_dims=(right,),
            lhs_contracting_dims=moved_up(attrs.lhs_contracting_dims, left, count),
            rhs_contracting_dims=moved_up(attrs.rhs_contracting_dims, right, count),
        ),
        shape=instr.shape.with_dims((size_of(instr.shape.dims[:count]), *instr.shape.dims[count:])),
    )
    return to_dims(product, instr.shape.dims)


def joined_at(x: Instruction, first: int, count: int) -> Instruction:
    """An array with some neighbouring dimensions made one."""
    dims = x.shape.dims
    whole = size_of(dims[first : first + count])
    return to_dims(x, (*dims[:first], whole, *dims[first + count :]))


def moved_up(dims: tuple[int, ...], first: int, count: int) -> tuple[int, ...]:
    """The numbers of dimensions when so many, from the first on, have become one."""
    return tuple(d - (count - 1) * (d > first) for d in dims)
