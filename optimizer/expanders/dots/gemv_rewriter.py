"""Writes products of a matrix and a vector as products of two matrices.

dot(f32[m,k] x, f32[k] y)   =>   reshape(dot(x, f32[k,1] reshape(y)))

A compiler of matrix products then needs no case for vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.dots.dot_decomposer import free_dims
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_dims

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "gemv-rewriter", "dot", promise=ROUNDING, xla="xla/service/gpu/transforms/gemv_rewriter.cc"
)
def multiply_matrices(site: ExpansionSite) -> Instruction | None:
    """Gives vectors in dots a dimension of size 1."""
    instr = site.instr
    attrs, (lhs, rhs) = DotDims.of(instr), instr.operands
    left = free_dims(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    right = free_dims(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)
    if bool(left) == bool(right):
        return None
    dims = list(instr.shape.dims)
    if left:
        rhs = to_dims(rhs, (*rhs.shape.dims, 1))
        dims.append(1)
    else:
        lhs = to_dims(lhs, (*lhs.shape.dims, 1))
        dims.insert(len(attrs.lhs_batch_dims), 1)
    product = instr.with_(operands=(lhs, rhs), shape=instr.shape.with_dims(tuple(dims)))
    return to_dims(product, instr.shape.dims)
