"""Factors positive definite matrices column by column.

cholesky(A), lower   =>   for j = 0, 1, ..., n - 1:
                              v = A[:, j] - L L[j, :]^H
                              L[:, j] = v / sqrt(v[j])    from row j on

The upper factor is the adjoint of the lower one of the adjoint. A matrix is positive definite if
all v[j] are greater than 0; the factor of any other is NaN throughout.

XLA factors blocks of 128 columns like this, and what is right of a block by products of matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Cholesky
from hlo.types.element_type import PRED, S32
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.linear_algebra.matrices import (
    block,
    conjugate,
    flipped,
    product,
    with_block,
)
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import counting, full, number, spread, to_dims, to_type, wide
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "cholesky_expander",
    "cholesky",
    promise=ROUNDING,
    xla="xla/hlo/transforms/expanders/cholesky_expander.cc",
)
def factor_by_columns(site: ExpansionSite) -> Instruction:
    """Replaces cholesky by a loop over columns."""
    lower = Cholesky.of(site.instr).lower
    operand = wide(site.instr.operands[0])
    matrices = operand if lower else conjugate(flipped(operand))
    n, batch = matrices.shape.dims[-1], matrices.shape.dims[:-2]
    if n == 0:
        return full(0, site.instr)
    positive = spread(number(True, PRED), (*batch, 1, 1))

    def step(
        j: Instruction, whole: Instruction, factor: Instruction, valid: Instruction
    ) -> list[Instruction]:
        row = block(factor, j, 0, 1, n)
        known = product(factor, flipped(conjugate(row)))
        rest = make("subtract", block(whole, 0, j, n, 1), known)
        pivot = make("real", block(rest, j, 0, 1, 1))
        root = to_type(make("sqrt", pivot), whole.shape.element_type)
        scaled = make("divide", rest, repeated(root, n))
        rows = counting(S32, rest.shape.dims, rest.shape.rank - 2)
        here = spread(j, rest.shape.dims)
        at_diagonal = make("compare", rows, here, direction="EQ")
        above = make("compare", rows, here, direction="LT")
        column = make("select", at_diagonal, repeated(root, n), scaled)
        column = make("select", above, full(0, column), column)
        good = make("compare", pivot, 0, direction="GT")
        return [whole, with_block(factor, column, 0, j), make("and", valid, good)]

    _, factor, valid = site.repeat(n, [matrices, full(0, matrices), positive], step)
    everywhere = spread(to_dims(valid, batch), matrices.shape.dims, range(len(batch)))
    result = make("select", everywhere, factor, full(float("nan"), factor))
    if not lower:
        result = flipped(conjugate(result))
    return to_type(result, site.instr.shape.element_type)


def repeated(scalar: Instruction, n: int) -> Instruction:
    """Matrices of one element, repeated to columns of n."""
    batch = scalar.shape.dims[:-2]
    return spread(to_dims(scalar, batch), (*batch, n, 1), range(len(batch)))
