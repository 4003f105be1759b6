"""Computes convolutions of preds in f16.

pred convolution(x, y)   =>   convert(f16 convolution(convert(x), convert(y)))

An element holds where any product does. A sum of ones in f16 may be rounded, and may become
infinite, but never 0; in s8 it could wrap around to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.types.element_type import F16, PRED
from optimizer.expanders.op_expander import Site, expand
from optimizer.expanders.parts import to_type
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class ConvolutionPredExpander:
    """Replaces convolutions of preds by convolutions of floats.

    References
    ----------
    XLA, `xla/hlo/transforms/expanders/convolution_pred_expander.cc`.
    """

    name = "convolution-pred-expander"

    def run(self, module: Module, log: Log) -> Module:
        """The module without convolutions of preds."""
        return expand(module, log, {"convolution": convolve_floats})


def convolve_floats(site: Site) -> Instruction | None:
    """The convolution in f16, between converts."""
    instr = site.instr
    if any(i.shape.element_type is not PRED for i in (instr, *instr.operands)):
        return None
    operands = tuple(to_type(operand, F16) for operand in instr.operands)
    made = instr.with_(operands=operands, shape=instr.shape.with_type(F16))
    return to_type(made, PRED)
