"""Drops dimensions of size 1 from the operands of a reduce.

reduce(f32[1,8,1,4] x), dimensions={1}   =>   reshape(reduce(f32[8,4] reshape(x)), dimensions={0})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Dimensions
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.dots.batch_dot_simplification import renumbered, without
from optimizer.expanders.op_expander import ExpansionSite, element, expander
from optimizer.expanders.parts import to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "reduction-degenerate-dim-remover",
    "reduce",
    promise=ROUNDING,
    xla="xla/service/gpu/transforms/reduction_degenerate_dim_remover.cc",
)
def drop_degenerate(site: ExpansionSite) -> Instruction | None:
    """Removes dimensions of size 1 of reductions.

    One of such dimensions alone stays: its initial value need not be neutral.
    """
    instr, count = site.instr, len(site.instr.operands) // 2
    dims = instr.operands[0].shape.dims
    gone = {d for d, n in enumerate(dims) if n == 1}
    axes = renumbered(Dimensions.of(instr).dimensions, gone)
    if not gone or not axes:
        return None
    operands = [without(operand, gone) for operand in instr.operands[:count]]
    new = make("reduce", *operands, *instr.operands[count:], dimensions=axes, called=instr.called)
    if not instr.shape.is_tuple:
        return to_dims(new, instr.shape.dims)
    parts = [to_dims(element(new, i), s.dims) for i, s in enumerate(instr.shape.elements)]
    return make("tuple", *parts)
