"""Widens the operands of dots and convolutions to the type in which they are summed up.

s32[] dot(s8[n] x, s8[n] y)   =>   dot(convert(x), convert(y)), both s32

A product of two s8 does not fit into s8, so the types of operands and result mean: widen first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import to_type
from optimizer.rewriting.pattern import convolution, dot, one_of, x, y

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType


@expander("operand_upcaster", one_of(dot, convolution)(x, y), xla="xla/service/operand_upcaster.cc")
def widen_operands(root: Instruction, x: Instruction, y: Instruction) -> Instruction | None:
    """Makes the operands of dots and convolutions as wide as the result."""
    target = root.shape.element_type
    types = [operand.shape.element_type for operand in (x, y)]
    if all(kind is target for kind in types) or not all(fits(kind, target) for kind in types):
        return None
    return root.with_(operands=(to_type(x, target), to_type(y, target)))


def fits(source: ElementType, target: ElementType) -> bool:
    """Whether every number of one type is a number of another, of the same kind."""
    if source is target:
        return True
    if source.is_floating:
        # Types of 32 bits and more hold all that have fewer bits; small floats differ in form.
        return target.is_floating and target.bits >= 32 and source.bits < target.bits
    both = source.is_integer and target.is_integer
    return (
        both
        and source.bits < target.bits
        and (source.kind, target.kind)
        != (
            "signed",
            "unsigned",
        )
    )
