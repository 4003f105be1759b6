"""Computes dots and convolutions of small floats in f32.

f16[] dot(f16[n] x, f16[n] y)   =>   convert(f32[] dot(convert(x), convert(y)))

Small floats are summed up in f32 and rounded once anyway, so this keeps every bit; it is for
libraries that have no such product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import ELEMENT_TYPES
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_type

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("change-op-data-type", "dot", "convolution", xla="xla/service/change_op_data_type.cc")
def compute_in_target(
    site: ExpansionSite, *, source: str = "f16", target: str = "f32"
) -> Instruction | None:
    """Converts dots and convolutions of one type to another and back.

    Parameters
    ----------
    source, target : names of element types.
    """
    instr, given, wanted = site.instr, ELEMENT_TYPES[source], ELEMENT_TYPES[target]
    shapes = [instr.shape, *(operand.shape for operand in instr.operands)]
    if any(shape.element_type is not given for shape in shapes):
        return None
    operands = tuple(to_type(operand, wanted) for operand in instr.operands)
    product = instr.with_(operands=operands, shape=instr.shape.with_type(wanted))
    return to_type(product, given)
