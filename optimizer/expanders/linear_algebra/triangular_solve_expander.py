"""Solves triangular systems row by row.

triangular-solve(A, B), A X = B, lower   =>   for i = 0, 1, ..., n - 1:
                                                  X[i, :] = (B[i, :] - A[i, :] X) / A[i, i]

with 0 in X below row i. Every other form becomes this one: X A = B is A^T X^T = B^T, and an upper
triangle, read from its end, is a lower one.

XLA inverts blocks on the diagonal like this, and does the rest by products of matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import TriangularSolve
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.linear_algebra.matrices import (
    below_diagonal,
    block,
    conjugate,
    flipped,
    product,
    with_block,
)
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import full, spread, to_dims, to_type, wide
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "triangular_solve_expander",
    "triangular-solve",
    promise=ROUNDING,
    xla="xla/service/triangular_solve_expander.cc",
)
def solve(site: ExpansionSite) -> Instruction | None:
    """Replaces triangular-solve by a loop over rows."""
    attrs = TriangularSolve.of(site.instr)
    system, sides = map(wide, site.instr.operands)
    if 0 in sides.shape.dims:
        return None
    lower = attrs.lower
    if attrs.transpose_a in ("TRANSPOSE", "ADJOINT"):
        system, lower = flipped(system), not lower
    if attrs.transpose_a == "ADJOINT":
        system = conjugate(system)
    if not attrs.left_side:
        system, sides, lower = flipped(system), flipped(sides), not lower
    rank = system.shape.rank
    if not lower:
        system = make("reverse", system, dimensions=(rank - 2, rank - 1))
        sides = make("reverse", sides, dimensions=(rank - 2,))
    solution = substitute(site, system, sides, unit_diagonal=attrs.unit_diagonal)
    if not lower:
        solution = make("reverse", solution, dimensions=(rank - 2,))
    if not attrs.left_side:
        solution = flipped(solution)
    return to_type(solution, site.instr.shape.element_type)


def substitute(
    site: ExpansionSite, system: Instruction, sides: Instruction, *, unit_diagonal: bool
) -> Instruction:
    """Forward substitution, row after row."""
    n, width = sides.shape.dims[-2:]

    def step(
        i: Instruction,
        system: Instruction,
        lower: Instruction,
        sides: Instruction,
        solution: Instruction,
    ) -> list[Instruction]:
        known = product(block(lower, i, 0, 1, n), solution)
        row = make("subtract", block(sides, i, 0, 1, width), known)
        if not unit_diagonal:
            pivot = block(system, i, i, 1, 1)
            batch = pivot.shape.dims[:-2]
            whole = spread(to_dims(pivot, batch), row.shape.dims, range(len(batch)))
            row = make("divide", row, whole)
        return [system, lower, sides, with_block(solution, row, i, 0)]

    # The other triangle may hold anything, NaN too, and 0 times NaN is NaN.
    state = [system, below_diagonal(system), sides, full(0, sides)]
    return site.repeat(n, state, step)[-1]
