"""Computes dots and convolutions in their operands' type where the result is narrower.

bf16[] dot(f32[n] x, f32[n] y)   =>   convert(f32[] dot(x, y))

Integers count as narrower than any floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import Site, expand
from optimizer.expanders.parts import to_type
from optimizer.expanders.precision.operand_upcaster import fits
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class ResultCaster:
    """Splits dots and convolutions with a narrower result into the product and a convert.

    References
    ----------
    XLA, `xla/service/result_caster.cc`.
    """

    name = "result_caster"

    def run(self, module: Module, log: Log) -> Module:
        """The module whose dots and convolutions have no result narrower than the operands."""
        return expand(module, log, {"dot": cast_result, "convolution": cast_result})


def cast_result(site: Site) -> Instruction | None:
    """The product in the operands' type, converted."""
    instr = site.instr
    wide, target = instr.operands[0].shape.element_type, instr.shape.element_type
    same = all(operand.shape.element_type is wide for operand in instr.operands)
    narrower = fits(target, wide) or (wide.is_floating and target.is_integer)
    if wide is target or not same or not narrower:
        return None
    return to_type(instr.with_(shape=instr.shape.with_type(wide)), target)
