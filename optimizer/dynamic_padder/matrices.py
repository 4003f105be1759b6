"""Decompositions of matrices with run-time sizes: a corner of 1 on the diagonal changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.types.element_type import S32
from optimizer.dynamic_padder.rules import common, remade, rule
from optimizer.dynamic_padder.values import Padded
from optimizer.expanders.parts import counting, equal, less, spread, to_type
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule("cholesky")
def cholesky(instr: Instruction, operand: Padded) -> Padded:
    """Decompositions of a run-time number of matrices, which have a run-time number of rows."""
    rank = instr.shape.rank
    size = operand.sizes.get(rank - 2) or operand.sizes.get(rank - 1)
    whole = completed(operand.value, size) if size else operand.value
    return remade(instr, [Padded(whole)], operand.sizes)


@rule("triangular-solve")
def triangular_solve(instr: Instruction, matrix: Padded, other: Padded) -> Padded:
    """Solutions of a run-time number of systems; unknowns that do not count are made zeros."""
    attrs = a.TriangularSolve.of(instr)
    rank = instr.shape.rank
    side = rank - 2 if attrs.left_side else rank - 1
    size = matrix.sizes.get(rank - 2) or matrix.sizes.get(rank - 1) or other.sizes.get(side)
    values = [matrix.value, other.value]
    if size:
        values = [completed(matrix.value, size), Padded(other.value, {side: size}).zeroed()]
    batch = Padded(matrix.value, {d: s for d, s in matrix.sizes.items() if d < rank - 2})
    return remade(instr, [Padded(value) for value in values], common([other, batch]))


def completed(matrices: Instruction, size: Instruction) -> Instruction:
    """Square matrices with those of 1 after as many rows and columns as count."""
    dims = matrices.shape.dims
    rows, columns = (counting(S32, dims, len(dims) - k) for k in (2, 1))
    limit = spread(size, dims)
    counts = make("and", less(rows, limit), less(columns, limit))
    unit = to_type(equal(rows, columns), matrices.shape.element_type)
    return make("select", counts, matrices, unit)
