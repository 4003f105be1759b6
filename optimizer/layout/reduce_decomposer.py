"""Lets reductions leave their results in the order in which they find their operands.

    f32[2,3]{0,1} reduce(f32[2,3,4]{2,1,0} x), dimensions={2}
        =>   f32[2,3]{0,1} copy(f32[2,3]{1,0} reduce(x))

What emits a reduction then walks through operand and result alike; a copy does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.layout.flow import result_order
from optimizer.layout.orders import order_of, with_order
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("reduce-decomposer", "reduce", xla="xla/hlo/transforms/expanders/reduce_decomposer.cc")
def reduce_in_place(site: ExpansionSite) -> Instruction | None:
    """Puts a copy after reductions that change the order of dimensions."""
    instr = site.instr
    if not instr.shape.is_array:
        return None
    order = result_order(instr, 0, order_of(instr.operands[0].shape))
    if order is None or order == order_of(instr.shape):
        return None
    reduced = instr.with_(shape=with_order(instr.shape, order), control_predecessors=())
    return make("copy", reduced, shape=instr.shape)
