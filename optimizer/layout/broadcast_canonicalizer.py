"""Sorts the dimensions of broadcasts.

    f32[2,3,4] broadcast(f32[4,2] x), dimensions={2,0}
        =>   f32[2,3,4] broadcast(f32[2,4] transpose(x, {1,0})), dimensions={0,2}

A broadcast that does not transpose repeats runs of memory, which is what emitters are good at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Broadcast
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "broadcast_canonicalizer",
    "broadcast",
    xla="xla/hlo/transforms/simplifiers/broadcast_canonicalizer.cc",
)
def sort_dimensions(site: ExpansionSite) -> Instruction | None:
    """Puts a transpose in front of broadcasts whose dimensions are not in order."""
    instr = site.instr
    dims = Broadcast.of(instr).dimensions
    order = sorted(range(len(dims)), key=dims.__getitem__)
    if order == list(range(len(dims))):
        return None
    operand = instr.operands[0]
    shape = operand.shape.with_dims(tuple(operand.shape.dims[d] for d in order))
    turned = make("transpose", operand, shape=shape, dimensions=tuple(order))
    return make("broadcast", turned, shape=instr.shape, dimensions=tuple(sorted(dims)))
