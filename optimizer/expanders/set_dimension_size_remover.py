"""Removes set-dimension-size where it sets the size that is there.

set-dimension-size(f32[8] x, 8), dimensions={0}   =>   x
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Dimensions
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "set-dimension-size-remover",
    "set-dimension-size",
    xla="xla/service/dynamic_padder.cc",
    always=True,
)
def whole_dimension(site: ExpansionSite) -> Instruction | None:
    """Replaces set-dimension-size to as many elements as there are by the operand."""
    operand, size = site.instr.operands
    wanted = value_of(size)
    bound = operand.shape.dims[Dimensions.of(site.instr).dimensions[0]]
    return operand if wanted is not None and int(wanted) == bound else None
