"""Computes convolutions of preds in f16.

pred convolution(x, y)   =>   convert(f16 convolution(convert(x), convert(y)))

An element holds where any product does. A sum of ones in f16 may be rounded, and may become
infinite, but never 0; in s8 it could wrap around to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import F16, PRED
from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import to_type
from optimizer.rewriting.guards import is_pred
from optimizer.rewriting.pattern import ROOT, convolution, x, y

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "convolution-pred-expander",
    convolution(x, y),
    where=is_pred(ROOT) & is_pred(x) & is_pred(y),
    xla="xla/hlo/transforms/expanders/convolution_pred_expander.cc",
)
def convolve_floats(root: Instruction, x: Instruction, y: Instruction) -> Instruction:
    """Replaces convolutions of preds by convolutions of floats."""
    operands = (to_type(x, F16), to_type(y, F16))
    return to_type(root.with_(operands=operands, shape=root.shape.with_type(F16)), PRED)
