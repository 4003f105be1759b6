"""Writes dots of vectors, and of a vector and a matrix, as products that are summed up.

dot(f32[n] x, f32[n] y)     =>   reduce(multiply(x, y)) by add
dot(f32[m,n] x, f32[n] y)   =>   reduce(multiply(x, broadcast(y)), dimensions={1}) by add

A product of matrices uses every element many times, which is what libraries are good at. Here each
element of the larger operand is used once, so the time is that of reading it. A reduction reads it
by all threads of a GPU, and can be fused with what is around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.dots.dot_decomposer import free_dims
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import (
    folded,
    number,
    permuted,
    spread,
    to_dims,
    to_type,
    wide,
)
from optimizer.expanders.precision.operand_upcaster import fits
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction


@expander("dot-strength-reduction", "dot", promise=ROUNDING)
def multiply_and_sum(site: ExpansionSite) -> Instruction | None:
    """Replaces dots of which an operand has no free dimensions by multiply and reduce.

    Free dimensions of size 1 count as none.

    References
    ----------
    XLA, `xla/hlo/transforms/simplifiers/dot_strength_reduction.cc` and DotStrengthReduction in
    the algebraic simplifier.
    """
    instr = site.instr
    attrs, (lhs, rhs) = DotDims.of(instr), instr.operands
    left = _Side(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    right = _Side(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)
    target = wide(instr).shape.element_type
    types = [wide(operand).shape.element_type for operand in instr.operands]
    if left.is_matrix and right.is_matrix:
        return None
    if not attrs.lhs_contracting_dims or not all(fits(kind, target) for kind in types):
        return None
    vector, matrix = (right, left) if left.is_matrix else (left, right)
    if matrix.is_matrix:
        # The matrix stays as it lies; the vector goes to the dimensions that they share.
        shared = sorted(matrix.shared)
        order = [vector.shared[matrix.shared.index(d)] for d in shared]
        x = spread(to_type(vector.alone(order), target), matrix.array.shape.dims, shared)
        y, axes = to_type(matrix.array, target), matrix.contracting
        dims = [d for d in range(y.shape.rank) if d not in axes]
        results = [dims.index(d) for d in (*matrix.batch, *matrix.free)]
    else:
        x, y = (to_type(side.alone(side.shared), target) for side in (left, right))
        results = list(range(len(left.batch)))
        axes = range(len(results), x.shape.rank)
    total = folded(make("multiply", x, y), number(0, target), axes, site.binary("add", target))
    whole = to_dims(permuted(total, results), instr.shape.dims)
    return to_type(whole, instr.shape.element_type)


class _Side:
    """An operand of a dot, with its kinds of dimensions."""

    def __init__(
        self, array: Instruction, batch: tuple[int, ...], contracting: tuple[int, ...]
    ) -> None:
        self.array, self.batch, self.contracting = array, batch, contracting
        self.shared, self.free = (*batch, *contracting), free_dims(array, batch, contracting)

    @property
    def is_matrix(self) -> bool:
        """Whether it has free dimensions."""
        return any(self.array.shape.dims[d] != 1 for d in self.free)

    def alone(self, order: Sequence[int]) -> Instruction:
        """A vector's dimensions in an order, without its free ones, which have one element."""
        whole = permuted(self.array, (*order, *self.free))
        return to_dims(whole, whole.shape.dims[: len(order)])
