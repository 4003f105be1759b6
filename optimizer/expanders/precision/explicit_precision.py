"""Converts where an instruction's shape says another precision than that of what it computes.

bf16[8] slice(f32[16] x)   =>   convert(f32[8] slice(x))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.infer.precision import TYPE_OF_OPERANDS, computed_shape
from optimizer.expanders.op_expander import Site, elements, expand
from optimizer.expanders.parts import to_type
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class ExplicitPrecision:
    """Splits what changes the precision of floats on its way from the conversion.

    References
    ----------
    XLA, `xla/hlo/transforms/simplifiers/float_normalization.cc`, which does so where a backend does
    not support such types.
    """

    name = "explicit-precision"

    def run(self, module: Module, log: Log) -> Module:
        """The module whose instructions say the types of what they compute."""
        return expand(module, log, dict.fromkeys(TYPE_OF_OPERANDS, converted_after))


def converted_after(site: Site) -> Instruction | None:
    """The instruction in the type that it computes, and then its own."""
    instr = site.instr
    made = computed_shape(instr)
    if made is None:
        return None
    plain = instr.with_(shape=_typed(instr.shape, made))
    if not instr.shape.is_tuple:
        return to_type(plain, instr.shape.element_type)
    pairs = zip(elements(plain), instr.shape.elements, strict=True)
    return make("tuple", *(to_type(part, shape.element_type) for part, shape in pairs))


def _typed(shape: Shape, like: Shape) -> Shape:
    """A shape with the element types of another one."""
    if not shape.is_tuple:
        return shape.with_type(like.element_type)
    pairs = zip(shape.elements, like.elements, strict=True)
    return replace(shape, elements=tuple(_typed(s, other) for s, other in pairs))
