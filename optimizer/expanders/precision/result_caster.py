"""Computes dots and convolutions in their operands' type where the result is narrower.

bf16[] dot(f32[n] x, f32[n] y)   =>   convert(f32[] dot(x, y))

Integers count as narrower than any floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import to_type
from optimizer.expanders.precision.operand_upcaster import fits
from optimizer.rewriting.guards import same_type
from optimizer.rewriting.pattern import convolution, dot, one_of, x, y

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "result_caster",
    one_of(dot, convolution)(x, y),
    where=same_type(x, y),
    xla="xla/service/result_caster.cc",
    always=True,
)
def cast_result(root: Instruction, x: Instruction) -> Instruction | None:
    """Splits dots and convolutions with a narrower result into the product and a convert."""
    wide, target = x.shape.element_type, root.shape.element_type
    narrower = fits(target, wide) or (wide.is_floating and target.is_integer)
    if wide is target or not narrower:
        return None
    return to_type(root.with_(shape=root.shape.with_type(wide)), target)
