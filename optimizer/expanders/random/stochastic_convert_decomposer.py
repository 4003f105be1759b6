"""Rounds floats to integers by random bits, in simpler instructions.

stochastic-convert(x, r)   =>   convert(sign(x) (whole + (r < fraction 2^w)))
                                with |x| = whole + fraction, and r of w bits

The fraction times 2^w is exact, and so is whole + 1: a number that has a fraction is far below the
largest whole one. convert saturates, and takes NaN to 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import less, to_type, wide
from optimizer.rewriting.guards import is_integer
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import ROOT, stochastic_convert, x, y

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "stochastic_convert_decomposer",
    stochastic_convert(x, y),
    where=is_integer(ROOT),
    xla="xla/hlo/transforms/expanders/stochastic_convert_decomposer.cc",
    always=True,
)
def round_by_bits(root: Instruction, x: Instruction, y: Instruction) -> Instruction:
    """Replaces stochastic-convert by arithmetic and a convert."""
    x, words = wide(x), y.shape.element_type
    size = make("abs", x)
    whole = make("floor", size)
    fraction = make("subtract", size, whole)
    threshold = to_type(make("multiply", fraction, 2.0**words.bits), words)
    away = less(y, threshold)
    rounded = make("select", away, make("add", whole, 1), whole)
    signed = make("select", less(x, 0), make("negate", rounded), rounded)
    return to_type(signed, root.shape.element_type)
