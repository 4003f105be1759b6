"""Derivatives of factorizations, triangular systems and Fourier transforms.

    L L^H = A          dL = L phi(L^-1 dA L^-H), phi: the lower triangle, half of the diagonal
    op(A) X = B        dX = op(A)^-1 (dB - op(dA) X)
    y = F x            the transform is linear, and its matrix symmetric

References
----------
JAX, `jax/_src/lax/linalg.py` and `jax/_src/lax/fft.py`. I. Murray, "Differentiation of the
Cholesky decomposition", 2016.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo import attributes as a
from hlo.types.element_type import S32
from optimizer.derivative.table import Leaves, again, differentiates, transposes, zeros
from optimizer.expanders.linear_algebra.matrices import (
    below_diagonal,
    conjugate,
    flipped,
    product,
)
from optimizer.expanders.parts import counting, cut, full, spread
from optimizer.rewriting.make import constant, make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from optimizer.derivative.movement import Cotangents


@differentiates("cholesky")
def cholesky(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction:
    """The change of the factor, by two triangular systems."""
    ((da,),) = tangents
    assert da is not None
    return change_of_factor(instr, da, lower=a.Cholesky.of(instr).lower)


def change_of_factor(factor: Instruction, da: Instruction, *, lower: bool) -> Instruction:
    """The change of a Cholesky factor with its matrix, of which one triangle counts."""
    factor = triangle(factor, lower=lower)
    if not lower:
        factor, da = adjoint(factor), adjoint(da)
    change = make("add", triangle(da, lower=True), adjoint(below_diagonal(da)))
    right = solved(factor, change, left_side=False, transpose_a="ADJOINT")
    whole = solved(factor, right, left_side=True)
    phi = make("subtract", triangle(whole, lower=True), half_of_diagonal(whole))
    found = product(factor, phi)
    return found if lower else adjoint(found)


def half_of_diagonal(x: Instruction) -> Instruction:
    """Half of each matrix's diagonal, and zeros around it."""
    rows, columns = indices(x)
    on = make("compare", rows, columns, direction="EQ")
    return make("select", on, make("multiply", x, full(0.5, x)), full(0, x))


def indices(x: Instruction) -> tuple[Instruction, Instruction]:
    """The row and the column of each element."""
    dims, rank = x.shape.dims, x.shape.rank
    return counting(S32, dims, rank - 2), counting(S32, dims, rank - 1)


def triangle(x: Instruction, *, lower: bool, unit: bool = False) -> Instruction:
    """One triangle of each matrix, and zeros in the other one.

    Parameters
    ----------
    unit : also zeros on the diagonal.
    """
    rows, columns = indices(x)
    inside = ("GT" if unit else "GE") if lower else ("LT" if unit else "LE")
    return make("select", make("compare", rows, columns, direction=inside), x, full(0, x))


def adjoint(x: Instruction) -> Instruction:
    """The conjugate transposed matrices."""
    return conjugate(flipped(x))


def solved(
    factor: Instruction, x: Instruction, *, left_side: bool, transpose_a: str = "NO_TRANSPOSE"
) -> Instruction:
    """The solutions of systems with a lower triangular matrix."""
    return make(
        "triangular-solve",
        factor,
        x,
        left_side=left_side,
        lower=True,
        unit_diagonal=False,
        transpose_a=transpose_a,
    )


@differentiates("triangular-solve")
def triangular_solve(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction:
    """The system again, for the change of the right side less that of the matrix times X."""
    return change_of_solution(instr, a.TriangularSolve.of(instr), tangents)


def change_of_solution(
    solution: Instruction, form: a.TriangularSolve, tangents: Sequence[Leaves]
) -> Instruction:
    """The change of a triangular system's solution with the matrix and the right side."""
    matrix, ((da,), (db,)) = solution.operands[0], tangents
    if da is not None:
        change = triangle(da, lower=form.lower, unit=form.unit_diagonal)
        if form.transpose_a in ("TRANSPOSE", "ADJOINT"):
            change = flipped(change)
        if form.transpose_a == "ADJOINT":
            change = conjugate(change)
        pair = (change, solution) if form.left_side else (solution, change)
        term = make("negate", product(*pair))
        db = term if db is None else make("add", db, term)
    assert db is not None
    return make(
        "triangular-solve",
        matrix,
        db,
        left_side=form.left_side,
        lower=form.lower,
        unit_diagonal=form.unit_diagonal,
        transpose_a=form.transpose_a,
    )


@transposes("triangular-solve")
def triangular_solve_back(
    instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]
) -> Cotangents:
    """The transposed system."""
    (ct,), (matrix, _) = cotangents, instr.operands
    assert ct is not None
    form = a.TriangularSolve.of(instr).transpose_a
    if form == "ADJOINT":
        matrix = conjugate(matrix)
    turned = "NO_TRANSPOSE" if form in ("TRANSPOSE", "ADJOINT") else "TRANSPOSE"
    return [None, again(instr, matrix, ct, transpose_a=turned)]


@differentiates("fft")
def fft(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction:
    """The transform of the tangent.

    Of real numbers it is the first half of the complex one, whose transpose is known.
    """
    ((dx,),) = tangents
    assert dx is not None
    attrs = a.Fft.of(instr)
    if attrs.fft_type != "RFFT":
        return again(instr, dx)
    wide = make("complex", dx, zeros(dx.shape))
    whole = make("fft", wide, fft_type="FFT", fft_length=attrs.fft_length)
    return cut(whole, whole.shape.rank - 1, 0, instr.shape.dims[-1])


@transposes("fft")
def fft_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The same transform; of one to real numbers, conjugates of a transform to half of a spectrum.

    All but the first and, of an even length, the middle of it count twice.
    """
    (ct,), attrs = cotangents, a.Fft.of(instr)
    assert ct is not None
    if attrs.fft_type in ("FFT", "IFFT"):
        return [again(instr, ct)]
    length = attrs.fft_length
    half = make("fft", ct, fft_type="RFFT", fft_length=length)
    count = half.shape.dims[-1]
    weights = np.full(count, 2 / prod(length))
    weights[0] /= 2
    if length[-1] % 2 == 0:
        weights[-1] = 1 / prod(length)
    kind = half.shape.element_type
    scale = spread(constant(weights.astype(kind.dtype)), half.shape.dims, (half.shape.rank - 1,))
    return [conjugate(make("multiply", half, scale))]
