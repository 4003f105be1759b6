"""Shapes of matrix factorizations, triangular systems and Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import bad_value, expect_kinds, expect_rank, expect_same_type, show
from hlo.infer.table import infers
from hlo.types.element_type import C64, C128, F32, F64
from hlo.types.shape import Shape, array
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Instruction


def _expect_square(matrices: Shape) -> None:
    """HLO029 unless the last two dimensions are of one size."""
    expect_kinds(matrices, "float", "complex")
    if matrices.rank < 2 or matrices.dims[-1] != matrices.dims[-2]:
        raise HloError("HLO029", f"takes square matrices, not {show(matrices)}")


@infers("cholesky", xla="ShapeInference::InferCholeskyShape")
def infer_cholesky(_instr: Instruction, _attrs: a.Cholesky, operand: Shape) -> Shape:
    """The operand's shape."""
    _expect_square(operand)
    return operand


@infers("triangular-solve", xla="ShapeInference::InferTriangularSolveShape")
def infer_triangular_solve(
    _instr: Instruction, attrs: a.TriangularSolve, matrices: Shape, right: Shape
) -> Shape:
    """The shape of the right sides."""
    _expect_square(matrices)
    expect_same_type(matrices, right)
    expect_rank(right, matrices.rank, "right sides")
    shared = right.dims[-2 if attrs.left_side else -1]
    if shared != matrices.dims[-1] or matrices.dims[:-2] != right.dims[:-2]:
        raise HloError("HLO029", f"matrices {show(matrices)} do not fit {show(right)}")
    if attrs.transpose_a not in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
        bad_value("transpose_a", attrs.transpose_a, "NO_TRANSPOSE, TRANSPOSE or ADJOINT")
    return right


@infers("fft", xla="ShapeInference::InferFftShape")
def infer_fft(_instr: Instruction, attrs: a.Fft, operand: Shape) -> Shape:
    """The operand's shape; RFFT halves the last dimension to n // 2 + 1, IRFFT restores it.

    XLA lets FFT and IFFT have lengths that are not the operand's, and its CPU backend then aborts
    the process. They are refused here, save lengths of 0 and operands without elements.
    """
    length = attrs.fft_length
    if not 1 <= len(length) <= 3:
        raise HloError("HLO028", f"transforms 1 to 3 dimensions, not {len(length)}")
    if operand.rank < len(length):
        raise HloError("HLO028", f"{counted(len(length), 'dimension')} of {show(operand)}")
    if attrs.fft_type in ("FFT", "IFFT"):
        expect_kinds(operand, "complex")
        if 0 not in (*length, *operand.dims):
            _expect_length(operand, length)
        return operand
    if attrs.fft_type == "RFFT":
        element_type = {F32: C64, F64: C128}.get(operand.element_type)
        if element_type is None:
            raise HloError("HLO022", f"RFFT takes f32 or f64, not {operand.element_type}")
        _expect_length(operand, length)
        last = length[-1] // 2 + 1 if length[-1] else 0
        return array(element_type, (*operand.dims[:-1], last), operand.dynamic)
    if attrs.fft_type == "IRFFT":
        expect_kinds(operand, "complex")
        half = length[-1] // 2 + 1 if length[-1] or operand.dims[-1] else 0
        _expect_length(operand, (*length[:-1], half))
        dims = (*operand.dims[:-1], length[-1])
        return array(operand.element_type.real, dims, operand.dynamic)
    return bad_value("fft_type", attrs.fft_type, "FFT, IFFT, RFFT or IRFFT")


def _expect_length(operand: Shape, length: tuple[int, ...]) -> None:
    """HLO029 unless the last dimensions are of the given sizes."""
    if operand.dims[-len(length) :] != length:
        raise HloError(
            "HLO029",
            f"the last dimensions of {show(operand)} must be {list(length)} for this fft_length",
        )
