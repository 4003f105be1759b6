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

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo import attributes as a
from hlo.types.element_type import S32
from optimizer.derivative.table import Leaves, again, differentiates, linear_in, transposes
from optimizer.expanders.linear_algebra.matrices import (
    conjugate,
    flipped,
    product,
)
from optimizer.expanders.parts import counting, full, spread
from optimizer.rewriting.make import constant, make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from optimizer.derivative.movement import Cotangents


class Systems:
    """Solves triangular systems of a derivative, by the opcode."""

    def solved(self, matrix: Instruction, x: Instruction, form: a.TriangularSolve) -> Instruction:
        """The solutions of systems of equations, of whose matrices one triangle counts."""
        return make(
            "triangular-solve",
            matrix,
            x,
            left_side=form.left_side,
            lower=form.lower,
            unit_diagonal=form.unit_diagonal,
            transpose_a=form.transpose_a,
        )

    def change_of_factor(self, factor: Instruction, da: Instruction, *, lower: bool) -> Instruction:
        """The change of a Cholesky factor with its matrix, of which one triangle counts."""
        if not lower:
            factor, da = adjoint(factor), adjoint(da)
        # Of a complex diagonal, the real part counts.
        half = with_half_diagonal(da)
        change = make("add", half, adjoint(half))
        right = self.solved(factor, change, system(left_side=False, transpose_a="ADJOINT"))
        whole = self.solved(factor, right, system())
        result = product(triangle(factor, lower=True), with_half_diagonal(whole))
        return result if lower else adjoint(result)

    def change_of_solution(
        self, solution: Instruction, form: a.TriangularSolve, tangents: Sequence[Leaves]
    ) -> Instruction:
        """The change of a triangular system's solution with the matrix and the right side."""
        matrix, ((da,), (db,)) = solution.operands[0], tangents
        if da is not None:
            change = triangle(da, lower=form.lower, unit=form.unit_diagonal)
            if form.transpose_a in ("TRANSPOSE", "ADJOINT"):
                change = flipped(change)
            if form.transpose_a == "ADJOINT":
                change = conjugate(change)
            change = make("negate", change)
            term = product(*((change, solution) if form.left_side else (solution, change)))
            db = term if db is None else make("add", db, term)
        assert db is not None
        return self.solved(matrix, db, form)


def system(
    *,
    left_side: bool = True,
    lower: bool = True,
    unit_diagonal: bool = False,
    transpose_a: str = "NO_TRANSPOSE",
) -> a.TriangularSolve:
    """A form of triangular systems: L X = B if nothing is said."""
    return a.TriangularSolve(
        left_side=left_side, lower=lower, unit_diagonal=unit_diagonal, transpose_a=transpose_a
    )


BY_OPCODE = Systems()


@differentiates("cholesky")
def cholesky(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction:
    """The change of the factor, by two triangular systems."""
    ((da,),) = tangents
    assert da is not None
    return BY_OPCODE.change_of_factor(instr, da, lower=a.Cholesky.of(instr).lower)


def with_half_diagonal(x: Instruction) -> Instruction:
    """The lower triangle of each matrix, with half of its diagonal."""
    rows, columns = indices(x)
    on = make("compare", rows, columns, direction="EQ")
    lower = triangle(x, lower=True)
    return make("select", on, make("multiply", lower, full(0.5, x)), lower)


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


@differentiates("triangular-solve")
def triangular_solve(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction:
    """The system again, for the change of the right side less that of the matrix times X."""
    return BY_OPCODE.change_of_solution(instr, a.TriangularSolve.of(instr), tangents)


@transposes("triangular-solve")
def triangular_solve_back(
    instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]
) -> Cotangents:
    """The transposed system."""
    (ct,), (matrix, _) = cotangents, instr.operands
    assert ct is not None
    form = a.TriangularSolve.of(instr)
    return [None, BY_OPCODE.solved(*transposed(matrix, ct, form))]


def transposed(
    matrix: Instruction, ct: Instruction, form: a.TriangularSolve
) -> tuple[Instruction, Instruction, a.TriangularSolve]:
    """The transposed system, whose right side is a cotangent."""
    if form.transpose_a == "ADJOINT":
        matrix = conjugate(matrix)
    plain = form.transpose_a in ("TRANSPOSE", "ADJOINT")
    return matrix, ct, replace(form, transpose_a="NO_TRANSPOSE" if plain else "TRANSPOSE")


differentiates.define("fft", linear_in())


@transposes("fft")
def fft_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The same transform; between real numbers and half of a spectrum, conjugates of the other one.

    All but the first and, of an even length, the middle of a half count twice.
    """
    (ct,), attrs = cotangents, a.Fft.of(instr)
    assert ct is not None
    if attrs.fft_type in ("FFT", "IFFT"):
        return [again(instr, ct)]
    length, from_half = attrs.fft_length, attrs.fft_type == "IRFFT"
    weights = np.full(length[-1] // 2 + 1, 2.0)
    weights[0] = 1
    if length[-1] % 2 == 0:
        weights[-1] = 1
    if from_half:
        half = make("fft", ct, fft_type="RFFT", fft_length=length)
        return [conjugate(weighted(half, weights / prod(length)))]
    half = conjugate(weighted(ct, prod(length) / weights))
    return [make("fft", half, fft_type="IRFFT", fft_length=length)]


def weighted(x: Instruction, weights: NDArray[np.float64]) -> Instruction:
    """A product with a number for each element of the last dimension."""
    factors = constant(weights.astype(x.shape.element_type.dtype))
    return make("multiply", x, spread(factors, x.shape.dims, (x.shape.rank - 1,)))
