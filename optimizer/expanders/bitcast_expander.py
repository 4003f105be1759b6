"""Writes bitcasts as moves of elements, so that no instruction's meaning depends on layouts.

f32[6] bitcast(f32[2,3]{0,1} x)   =>   reshape(transpose(x, {1,0}))

A bitcast reads memory in the order of its operand's layout. A module that a compiler has laid out
has many; were they left, no pass could put a value for an equal one that lies otherwise in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.tiling import fill_same_memory
from optimizer.dimensions import inverse
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import bits_of, permuted, to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("bitcast-expander", "bitcast")
def move_elements(site: ExpansionSite) -> Instruction | None:
    """Replaces bitcasts by reshapes and transposes, which mean the same in every layout.

    One that also changes the width of elements stays, so does one between tiles, and so do those of
    fused computations, whose parameters keep their layouts.
    """
    (operand,), target = site.instr.operands, site.instr.shape
    source = operand.shape
    if source.is_dynamic or target.is_dynamic or fill_same_memory(source, target):
        return None
    if source.element_type.bits != target.element_type.bits:
        return None
    moved = permuted(bits_of(operand, target.element_type), source.memory_order)
    order = target.memory_order
    bitcast = permuted(to_dims(moved, [target.dims[d] for d in order]), inverse(order))
    return bitcast if bitcast.shape == target else make("copy", bitcast, shape=target)
