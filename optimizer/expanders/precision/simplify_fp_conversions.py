"""Removes chains of float converts, with the rounding in between.

convert(convert(f32 x, bf16), f32)   =>   x

This is lossy on purpose: x keeps digits that the program rounded away. Programs seldom mean the
rounding; they come by it where computations of small floats are done in wider ones. But where one
does mean it, as a reduction does that rounds each partial result, all of it is gone: the result is
then as far from the program's as the smaller type's numbers are from each other. XLA runs this pass
only if `xla_allow_excess_precision` says that it may. No standard pipeline here has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpreter.numbers.compare import LOSSY
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_type

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "simplify-fp-conversions",
    "convert",
    promise=LOSSY,
    xla="xla/service/simplify_fp_conversions.cc",
)
def skip_intermediate(site: ExpansionSite) -> Instruction | None:
    """Replaces converts of converts by one, or none."""
    start, length = site.instr, 0
    while start.opcode == "convert" and start.shape.element_type.is_floating:
        start, length = start.operands[0], length + 1
    return to_type(start, site.instr.shape.element_type) if length > 1 else None
