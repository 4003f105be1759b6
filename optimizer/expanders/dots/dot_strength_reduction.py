"""Writes dots of vectors as products that are summed up.

dot(f32[n] x, f32[n] y)   =>   reduce(multiply(x, y)) by add

A product of matrices uses every element many times, which is what libraries are good at; a product
of vectors only once, and so it can be fused with what is around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.dots.dot_decomposer import free_dims
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import folded, number, permuted, to_type, wide
from optimizer.expanders.precision.operand_upcaster import fits
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("dot-strength-reduction", "dot", promise=ROUNDING)
def multiply_and_sum(site: ExpansionSite) -> Instruction | None:
    """Replaces dots that have no free dimensions by multiply and reduce.

    References
    ----------
    XLA, `xla/hlo/transforms/simplifiers/dot_strength_reduction.cc` and DotStrengthReduction in
    the algebraic simplifier.
    """
    instr = site.instr
    attrs, (lhs, rhs) = DotDims.of(instr), instr.operands
    left = (*attrs.lhs_batch_dims, *attrs.lhs_contracting_dims)
    right = (*attrs.rhs_batch_dims, *attrs.rhs_contracting_dims)
    target = wide(instr).shape.element_type
    types = [wide(operand).shape.element_type for operand in instr.operands]
    if free_dims(lhs, left) or free_dims(rhs, right):
        return None
    if not attrs.lhs_contracting_dims or not all(fits(each, target) for each in types):
        return None
    x, y = (to_type(permuted(v, d), target) for v, d in ((lhs, left), (rhs, right)))
    axes = range(len(attrs.lhs_batch_dims), len(left))
    total = folded(make("multiply", x, y), number(0, target), axes, site.binary("add", target))
    return to_type(total, instr.shape.element_type)
