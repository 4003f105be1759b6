"""Computes dots and convolutions in their operands' type where the result is narrower.

bf16[] dot(f32[n] x, f32[n] y)   =>   convert(f32[] dot(x, y))

Integers count as narrower than any floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_type
from optimizer.expanders.precision.operand_upcaster import fits

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("result_caster", "dot", "convolution", xla="xla/service/result_caster.cc", always=True)
def cast_result(site: ExpansionSite) -> Instruction | None:
    """Splits dots and convolutions with a narrower result into the product and a convert."""
    instr = site.instr
    wide, target = instr.operands[0].shape.element_type, instr.shape.element_type
    same = all(operand.shape.element_type is wide for operand in instr.operands)
    narrower = fits(target, wide) or (wide.is_floating and target.is_integer)
    if wide is target or not same or not narrower:
        return None
    return to_type(instr.with_(shape=instr.shape.with_type(wide)), target)
