"""Computes convolutions of preds in f16.

pred convolution(x, y)   =>   convert(f16 convolution(convert(x), convert(y)))

An element holds where any product does. A sum of ones in f16 may be rounded, and may become
infinite, but never 0; in s8 it could wrap around to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import F16, PRED
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_type

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "convolution-pred-expander",
    "convolution",
    xla="xla/hlo/transforms/expanders/convolution_pred_expander.cc",
)
def convolve_floats(site: ExpansionSite) -> Instruction | None:
    """Replaces convolutions of preds by convolutions of floats."""
    instr = site.instr
    if any(i.shape.element_type is not PRED for i in (instr, *instr.operands)):
        return None
    operands = tuple(to_type(operand, F16) for operand in instr.operands)
    made = instr.with_(operands=operands, shape=instr.shape.with_type(F16))
    return to_type(made, PRED)
