"""Custom calls of XLA's TPU backend: 64 bits as two parts, and factors of blocks of matrices.

A TPU computes in 32 bits. So its compiler takes each array of 64 bits apart where a module begins,
and puts the results together where it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.infer.checks import show
from hlo.types.element_type import C64, C128, F32, F64, S32, S64, U32, U64
from interpreter.custom_calls.factorizations import batched, geqrf, getrf, potrf, trsm
from interpreter.custom_calls.registry import vendor_call
from interpreter.custom_calls.signatures import FACTORED, Signature, checked, register_signature
from interpreter.custom_calls.vendors.jax_gpu import permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]

# The types of which both parts may be; the first is the usual one.
PARTS: dict[ElementType, tuple[ElementType, ...]] = {
    U64: (U32,),
    S64: (U32, S32),
    F64: (F32,),
    C64: (F32,),
    C128: (F64,),
}
_SPLITS = ("X64SplitLow", "X64SplitHigh", "X128SplitLow", "X128SplitHigh")
_COMBINES = ("X64Combine", "X128Combine")


@vendor_call("X64SplitLow", "X128SplitLow")
def low_part(_frame: Frame, instr: Instruction, whole: Array) -> Array:
    """The low 32 bits of integers, the rest of f64 beyond f32, the real part of complex numbers.

    References
    ----------
    `X64SplitLow` in XLA's `hlo_replication_analysis_test.cc`.
    """
    if whole.dtype.kind == "c":
        return np.real(whole)
    if whole.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            rest = whole - whole.astype(np.float32)
            return np.where(np.isfinite(rest), rest, 0).astype(np.float32)
    return whole.astype(instr.shape.element_type.dtype)


@vendor_call("X64SplitHigh", "X128SplitHigh")
def high_part(_frame: Frame, instr: Instruction, whole: Array) -> Array:
    """The high 32 bits of integers, f64 as f32, the imaginary part of complex numbers."""
    if whole.dtype.kind == "c":
        return np.imag(whole)
    if whole.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return whole.astype(np.float32)
    return (whole >> whole.dtype.type(32)).astype(instr.shape.element_type.dtype)


@vendor_call(*_COMBINES)
def combine_parts(_frame: Frame, instr: Instruction, low: Array, high: Array) -> Array:
    """The values that have these low and high parts."""
    kind, dtype = instr.shape.element_type, instr.shape.element_type.dtype
    if kind.is_complex:
        result = np.empty(low.shape, dtype)
        result.real, result.imag = low, high
        return result
    if kind.is_floating:
        return high.astype(dtype) + low.astype(dtype)
    return (high.astype(dtype) << dtype.type(32)) | low.astype(np.uint32).astype(dtype)


@checked(*_SPLITS, note="an array of 64 bits -> one of its parts, of 32 bits")
def check_split(instr: Instruction, _options: Options | None) -> str:
    """The fault in the shapes of `low_part` and `high_part`."""
    shapes = [o.shape for o in instr.operands]
    if len(shapes) != 1:
        return f"takes 1 array, not {len(shapes)}"
    parts = PARTS.get(shapes[0].element_type, ())
    right = instr.shape.element_type in parts and instr.shape.dims == shapes[0].dims
    return "" if right else f"makes no {show(instr.shape)} of {show(shapes[0])}"


@checked(*_COMBINES, note="two arrays of 32 bits -> one of 64 bits")
def check_combine(instr: Instruction, _options: Options | None) -> str:
    """The fault in the shapes of `combine_parts`."""
    shapes = [o.shape for o in instr.operands]
    if len(shapes) != 2:
        return f"takes 2 arrays, not {len(shapes)}"
    parts = PARTS.get(instr.shape.element_type, ())
    for shape in shapes:
        if shape.element_type not in parts or shape.dims != instr.shape.dims:
            return f"makes no {show(instr.shape)} of {show(shape)}"
    return ""


def lu(letter: str, options: Options, a: Array) -> tuple[Any, ...]:
    """LU factors, the row that each row was exchanged with, and all rows in their new order."""
    factors, pivots, _ = getrf(letter, options, a)
    return factors, pivots - 1, permutation(pivots - 1, len(a))


def cholesky(letter: str, _options: Options, a: Array) -> tuple[Any, ...]:
    """The lower Cholesky factor, with zeros above; NaN if the matrix has none."""
    factor, info = potrf(letter, {"uplo": ord("L")}, a)
    return (np.tril(factor if info == 0 else np.full_like(factor, np.nan)),)


def inverse_of_lower(letter: str, _options: Options, a: Array) -> tuple[Any, ...]:
    """The inverse of a lower triangle."""
    return trsm(letter, {**_SOLVE, "uplo": "L"}, a, np.eye(len(a), dtype=a.dtype, order="F"))


def inverse_of_upper(letter: str, _options: Options, a: Array) -> tuple[Any, ...]:
    """The inverse of an upper triangle."""
    return trsm(letter, {**_SOLVE, "uplo": "U"}, a, np.eye(len(a), dtype=a.dtype, order="F"))


_SOLVE = {"side": "L", "trans_x": "N", "diag": "N"}
_SQUARE = Signature("T[*,n,n] -> T[*,n,n]")
_ROUTINES = {
    "LuDecomposition": (lu, Signature("T[*,m,n] -> T[*,m,n] s32[*,k] s32[*,m]")),
    "LuRealDecompositionBlock": (lu, Signature("T[*,m,n] -> T[*,m,n] s32[*,k] s32[*,m]")),
    "Cholesky": (cholesky, _SQUARE),
    "QrDecompositionBlock": (geqrf, Signature("T[*,m,n] -> T[*,m,n] T[*,k]")),
    "InvertDiagBlocksLowerTriangular": (inverse_of_lower, _SQUARE),
    "InvertDiagBlocksUpperTriangular": (inverse_of_upper, _SQUARE),
}
for _name, (_routine, _signature) in _ROUTINES.items():
    vendor_call(_name)(batched(_routine, (2,), dict[str, Any]))
    register_signature(_signature, _name, types=FACTORED)
