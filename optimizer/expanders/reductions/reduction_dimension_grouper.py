"""Joins neighbouring dimensions that are reduced.

reduce(f32[2,3,4] x), dimensions={0,1}   =>   reduce(f32[6,4] reshape(x)), dimensions={0}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Dimensions
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "reduction-dimension-grouper",
    "reduce",
    promise=ROUNDING,
    xla="xla/service/gpu/transforms/reduction_dimension_grouper.cc",
)
def group_reduced(site: ExpansionSite) -> Instruction | None:
    """Makes one dimension of neighbours that are reduced."""
    instr, count = site.instr, len(site.instr.operands) // 2
    reduced = set(Dimensions.of(instr).dimensions)
    dims: list[int] = []
    axes: list[int] = []
    for d, n in enumerate(instr.operands[0].shape.dims):
        if {d - 1, d} <= reduced:
            dims[-1] *= n
            continue
        if d in reduced:
            axes.append(len(dims))
        dims.append(n)
    if len(axes) == len(reduced):
        return None
    operands = [to_dims(operand, dims) for operand in instr.operands[:count]]
    return make(
        "reduce",
        *operands,
        *instr.operands[count:],
        shape=instr.shape,
        dimensions=tuple(axes),
        called=instr.called,
    )
