"""Writes the logistic function in terms of the exponential.

logistic(x)   =>   1 / (1 + exp(-x))

For x = -inf the exponential is infinite and the quotient 0; so no case needs care. Small floats are
computed in f32 and rounded once, which is what XLA's FloatNormalization makes of them before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import to_type, wide
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import logistic, x

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("logistic-expander", logistic(x), xla="xla/hlo/transforms/expanders/logistic_expander.cc")
def logistic_by_exponential(root: Instruction, x: Instruction) -> Instruction:
    """Replaces logistic by negate, exponential, add and divide."""
    bottom = make("add", 1, make("exponential", make("negate", wide(x))))
    return to_type(make("divide", 1, bottom), root.shape.element_type)
