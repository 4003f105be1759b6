"""Writes the logistic function in terms of the exponential.

logistic(x)   =>   1 / (1 + exp(-x))

For x = -inf the exponential is infinite and the quotient 0; so no case needs care. Small floats are
computed in f32 and rounded once, which is what XLA's FloatNormalization makes of them before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_type, wide
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("logistic-expander", "logistic", xla="xla/hlo/transforms/expanders/logistic_expander.cc")
def logistic(site: ExpansionSite) -> Instruction:
    """Replaces logistic by negate, exponential, add and divide."""
    instr = site.instr
    x = wide(instr.operands[0])
    bottom = make("add", 1, make("exponential", make("negate", x)))
    return to_type(make("divide", 1, bottom), instr.shape.element_type)
