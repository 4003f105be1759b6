"""Cholesky factors, triangular systems and Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.numbers.widths import narrowed, type_of, widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.instruction import Instruction

    Array = NDArray[Any]


@evaluates("cholesky", xla="Cholesky")
def evaluate_cholesky(_instr: Instruction, attrs: a.Cholesky, operand: Array) -> Array:
    """Factor positive definite matrices: A = L L^H, or A = U^H U.

    Parameters
    ----------
    operand : shape (..., n, n); only the requested triangle is read.

    Returns
    -------
    Array
        the factor, 0 in the other triangle; all NaN where a matrix is not positive definite.
    """
    matrices = widened(operand)
    try:
        factors = np.linalg.cholesky(matrices, upper=not attrs.lower)
    except np.linalg.LinAlgError:
        factors = np.empty_like(matrices)
        for index in np.ndindex(matrices.shape[:-2]):
            factors[index] = _factor_or_nan(matrices[index], upper=not attrs.lower)
    return narrowed(factors, type_of(operand))


def _factor_or_nan(matrix: Array, *, upper: bool) -> Array:
    try:
        return np.linalg.cholesky(matrix, upper=upper)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


@evaluates("triangular-solve", xla="TriangularSolve")
def evaluate_triangular_solve(
    _instr: Instruction, attrs: a.TriangularSolve, matrix: Array, right: Array
) -> Array:
    """Solve op(A) X = B, or X op(A) = B with `left_side` false, for X.

    Parameters
    ----------
    matrix : A, shape (..., n, n); only the triangle that `lower` says is read, and with
        `unit_diagonal` not its diagonal, which counts as 1. `transpose_a` says whether op(A) is A,
        its transpose or its adjoint.
    right : B, shape (..., n, m); (..., m, n) with `left_side` false.

    Returns
    -------
    Array
        X, of B's shape
    """
    lower, system, sides = attrs.lower, widened(matrix), widened(right)
    if attrs.transpose_a in ("TRANSPOSE", "ADJOINT"):
        system, lower = system.mT, not lower
    if attrs.transpose_a == "ADJOINT":
        system = system.conj()
    if not attrs.left_side:
        # X A = B is A^T X^T = B^T.
        system, sides, lower = system.mT, sides.mT, not lower
    if not lower:
        # Read from its end, an upper triangle is a lower one.
        system, sides = system[..., ::-1, ::-1], sides[..., ::-1, :]
    solution = _substitute(system, sides, unit_diagonal=attrs.unit_diagonal)
    if not lower:
        solution = solution[..., ::-1, :]
    if not attrs.left_side:
        solution = solution.mT
    return narrowed(solution, type_of(right))


def _substitute(system: Array, sides: Array, *, unit_diagonal: bool) -> Array:
    """Solve lower triangular systems by forward substitution, row after row."""
    solution = sides.copy()
    for i in range(system.shape[-1]):
        known = np.matmul(system[..., i : i + 1, :i], solution[..., :i, :])
        row = solution[..., i : i + 1, :] - known
        if not unit_diagonal:
            row = row / system[..., i : i + 1, i : i + 1]
        solution[..., i : i + 1, :] = row
    return solution


@evaluates("fft", xla="Fft; FftTransform in XLA's evaluator")
def evaluate_fft(instr: Instruction, attrs: a.Fft, operand: Array) -> Array:
    """Transform the last dimensions between time and frequency.

    FFT and IFFT take and give complex numbers. RFFT takes real ones, and gives the n // 2 + 1
    frequencies of the last dimension that say everything; IRFFT takes these back to n real ones.
    The inverse transforms divide by the number of elements. A transform of length 0 gives zeros.

    Parameters
    ----------
    operand : its last len(fft_length) dimensions are transformed; those of the time side have the
        sizes `fft_length`.
    """
    count = len(attrs.fft_length)
    axes = tuple(range(-count, 0))
    element_type = instr.shape.element_type
    if operand.size == 0 or 0 in attrs.fft_length:
        dims = (*operand.shape[:-count], *instr.shape.dims[-count:])
        return np.zeros(dims, element_type.dtype)
    functions = {
        "FFT": np.fft.fftn,
        "IFFT": np.fft.ifftn,
        "RFFT": np.fft.rfftn,
        "IRFFT": np.fft.irfftn,
    }
    transform: Any = functions[attrs.fft_type]
    # Only for IRFFT do the operand's sizes not say it all: n // 2 + 1 has two n.
    sizes = attrs.fft_length if attrs.fft_type == "IRFFT" else None
    return narrowed(transform(operand, s=sizes, axes=axes), element_type)
