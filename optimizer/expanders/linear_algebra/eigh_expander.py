"""Finds eigenvalues and eigenvectors of Hermitian matrices by Jacobi's rotations.

Eigh(A)   =>   V = I
               again and again, for each pair p < q:
                   A = J^H A J,  V = V J    where J rotates p against q so that A[p, q] becomes 0
               w = diagonal of A, V and w sorted by w

A rotation that clears one element disturbs others, but the sum of squares off the diagonal falls
with each, in the end quadratically; ten sweeps over all pairs are enough for f64. With
theta = (A[q,q] - A[p,p]) / (2 |A[p,q]|), the tangent of the angle is the smaller root of
t^2 + 2 theta t - 1 = 0, t = sign(theta) / (|theta| + sqrt(1 + theta^2)). A complex A[p,q] is made
real first, by turning q's phase.

Matrices of very large or small numbers are scaled by a power of two before, and the eigenvalues
back after, as LAPACK does it. XLA rotates n/2 pairs at a time, and stops when little is left off
the diagonal.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from hlo.attributes import CustomCall
from interpreter.custom_calls.signatures import problem_of
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.linear_algebra.cholesky_expander import repeated
from optimizer.expanders.linear_algebra.matrices import (
    below_diagonal,
    block,
    conjugate,
    flipped,
    mask_by_place,
    scaled,
    times,
    with_block,
)
from optimizer.expanders.op_expander import ExpansionSite, element, expander
from optimizer.expanders.parts import cut, folded, full, number, spread, to_dims
from optimizer.rewriting.make import constant, make

if TYPE_CHECKING:
    from hlo.instruction import Instruction

SWEEPS = 10


@expander("eigh_expander", "custom-call", promise=ROUNDING)
def apart(site: ExpansionSite) -> Instruction | None:
    """Replaces the custom call `Eigh` by a loop over pairs of rows and columns.

    No standard pipeline runs it: our backends hand it to LAPACK.

    References
    ----------
    XLA, `xla/hlo/transforms/expanders/eigh_expander.cc`; G. H. Golub, C. F. Van Loan, "Matrix
    Computations", section 8.5.
    """
    if CustomCall.of(site.instr).custom_call_target != "Eigh" or problem_of(site.instr):
        return None
    return None if 0 in site.instr.operands[0].shape.dims else rotated_away(site)


def rotated_away(site: ExpansionSite) -> Instruction:
    """The eigenvectors as columns, and the eigenvalues, which rise."""
    config = site.instr.annotations.backend_config.strip('"')
    matrix, back = scaled(site, whole(site.instr.operands[0], lower=config.startswith("1")))
    n = matrix.shape.dims[-1]
    on_diagonal = mask_by_place(matrix, "EQ")
    vectors = make("select", on_diagonal, full(1, matrix), full(0, matrix))
    pairs = list(combinations(range(n), 2))
    if pairs:
        table = constant(np.array(pairs, np.int32))

        def step(
            iteration: Instruction, table: Instruction, matrix: Instruction, vectors: Instruction
        ) -> list[Instruction]:
            row = make("remainder", iteration, len(pairs))
            p, q = (
                to_dims(
                    make("dynamic-slice", table, row, number(i), dynamic_slice_sizes=(1, 1)), ()
                )
                for i in (0, 1)
            )
            return [table, *rotate(matrix, vectors, p, q)]

        state = [table, matrix, vectors]
        _, matrix, vectors = site.repeat(SWEEPS * len(pairs), state, step)
    return sorted_by_value(site, matrix, vectors, back)


def whole(x: Instruction, *, lower: bool) -> Instruction:
    """The Hermitian matrix of which one triangle is given."""
    triangle = below_diagonal(x if lower else flipped(conjugate(x)))
    both = make("add", triangle, flipped(conjugate(triangle)))
    real = make("real", x) if x.shape.element_type.is_complex else x
    middle = make("complex", real, full(0, real)) if real is not x else x
    return make("select", mask_by_place(x, "EQ"), middle, both)


def rotate(
    matrix: Instruction, vectors: Instruction, p: Instruction, q: Instruction
) -> list[Instruction]:
    """The matrix whose element (p, q) is 0, and the vectors rotated likewise."""
    at = {key: block(matrix, *key, 1, 1) for key in ((p, p), (q, q), (p, q))}
    complex_ = matrix.shape.element_type.is_complex
    low, high = (make("real", at[i, i]) if complex_ else at[i, i] for i in (p, q))
    size = make("abs", at[p, q])
    nothing = make("compare", size, 0, direction="EQ")
    safe = make("select", nothing, full(1, size), size)
    theta = make("divide", make("subtract", high, low), make("multiply", safe, 2))
    root = make("sqrt", make("add", make("multiply", theta, theta), 1))
    tangent = make("divide", full(1, theta), make("add", make("abs", theta), root))
    is_negative = make("compare", theta, 0, direction="LT")
    tangent = make("select", is_negative, make("negate", tangent), tangent)
    tangent = make("select", nothing, full(0, tangent), tangent)
    cosine = make("rsqrt", make("add", make("multiply", tangent, tangent), 1))
    sine = make("multiply", tangent, cosine)
    if complex_:
        cosine, sine, safe = (make("complex", x, full(0, x)) for x in (cosine, sine, safe))
    phase = make("select", nothing, full(1, at[p, q]), make("divide", at[p, q], safe))
    iteration = (p, q, cosine, sine, conjugate(phase))
    # The rows of A are, conjugated, the columns of A^H.
    half = rotated_columns(matrix, *iteration)
    rotated = flipped(conjugate(rotated_columns(flipped(conjugate(half)), *iteration)))
    return [rotated, rotated_columns(vectors, *iteration)]


def rotated_columns(
    x: Instruction,
    p: Instruction,
    q: Instruction,
    cosine: Instruction,
    sine: Instruction,
    phase: Instruction,
) -> Instruction:
    """Columns p and q of matrices, rotated into c p - s q and s p + c q."""
    n = x.shape.dims[-2]
    c, s, iteration = (repeated(number, n) for number in (cosine, sine, phase))
    one = block(x, 0, p, n, 1)
    other = make("multiply", block(x, 0, q, n, 1), iteration)
    new_p = make("subtract", make("multiply", c, one), make("multiply", s, other))
    new_q = make("add", make("multiply", s, one), make("multiply", c, other))
    return with_block(with_block(x, new_p, 0, p), new_q, 0, q)


def sorted_by_value(
    site: ExpansionSite, matrix: Instruction, vectors: Instruction, back: Instruction
) -> Instruction:
    """Eigenvectors and the values on the diagonal, by rising value.

    Parameters
    ----------
    back : the number by which each matrix's values are multiplied.
    """
    dims, rank = matrix.shape.dims, matrix.shape.rank
    real = make("real", matrix) if matrix.shape.element_type.is_complex else matrix
    only = make("select", mask_by_place(real, "EQ"), real, full(0, real))
    add = site.binary("add", real.shape.element_type)
    zero = number(0, real.shape.element_type)
    values = folded(only, zero, [rank - 2], add)
    # Each row of the vectors is sorted by the same values.
    keys = spread(values, dims, [*range(rank - 2), rank - 1])
    scalars = [x.shape.with_dims(()) for x in (keys, keys, vectors, vectors)]

    def is_less(a: Instruction, b: Instruction, *_: Instruction) -> Instruction:
        return make("compare", a, b, direction="LT")

    by_value = site.computation("by_value", scalars, is_less)
    both = make("sort", keys, vectors, dimensions=(rank - 1,), is_stable=True, called=(by_value,))
    first = cut(element(both, 0), rank - 2, 0, 1)
    return make("tuple", element(both, 1), times(to_dims(first, values.shape.dims), back))
