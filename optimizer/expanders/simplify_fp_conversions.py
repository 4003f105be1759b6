"""Removes chains of float converts, with the rounding in between.

convert(convert(f32 x, bf16), f32)   =>   x

This is lossy on purpose: x keeps digits that the program rounded away. Programs seldom mean the
rounding; they come by it where computations of small floats are done in wider ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interpreter.compare import ROUNDING
from optimizer.expanders.op_expander import Site, expand
from optimizer.expanders.parts import to_type
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log

# What a number loses that is rounded to a float of two mantissa bits, in the last places of f64.
LOSSY = ROUNDING.within(2**51)


@register
@dataclass(frozen=True)
class SimplifyFPConversions:
    """Replaces converts of converts by one, or none.

    References
    ----------
    XLA, `xla/service/simplify_fp_conversions.cc`.
    """

    name = "simplify-fp-conversions"
    promise = LOSSY

    def run(self, module: Module, log: Log) -> Module:
        """The module without chains of float converts."""
        return expand(module, log, {"convert": skip_intermediate})


def skip_intermediate(site: Site) -> Instruction | None:
    """The convert of what a chain of converts began with."""
    instr = site.instr
    start = instr.operands[0]
    while start.opcode == "convert" and start.shape.element_type.is_floating:
        if not start.operands[0].shape.element_type.is_floating:
            break
        start = start.operands[0]
    if start is instr.operands[0] or not instr.shape.element_type.is_floating:
        return None
    return to_type(start, instr.shape.element_type)
