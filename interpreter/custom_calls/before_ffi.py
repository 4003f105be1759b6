"""LAPACK as JAX called it until 2024: sizes and options are operands in front of the arrays.

The routines are those of `factorizations`; only the way in which options come is another, and the
results end with room to work in, which stays zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interpreter.custom_calls import factorizations as f
from interpreter.custom_calls.lapack_names import BEFORE_FFI, targets_before_ffi
from interpreter.custom_calls.registry import custom_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Instruction
    from interpreter.frame import Frame
    from interpreter.table import Value

    Options = dict[str, Any]


def _triangle(lower: Any, *_sizes: Any) -> Options:
    return {"uplo": "L" if lower else "U", "mode": "V"}


def _vectors(compute: Any, full: Any, *_sizes: Any) -> Options:
    return {"mode": "N" if not compute else "A" if full else "S"}


def _sizes_only(*_sizes: Any) -> Options:
    return {}


# How each is computed, and how its options are read.
_ROUTINES: dict[str, tuple[f.Routine, Callable[..., Options]]] = {
    "potrf": (f.potrf, _triangle),
    "getrf": (f.getrf, _sizes_only),
    "geqrf": (f.geqrf, _sizes_only),
    "orgqr": (f.orgqr, _sizes_only),
    "ungqr": (f.orgqr, _sizes_only),
    "syevd": (f.syevd, _triangle),
    "heevd": (f.syevd, _triangle),
    "gesdd": (f.gesdd, _vectors),
}
for _name, (_routine, _read) in _ROUTINES.items():
    _ranks = BEFORE_FFI[_name][1]
    custom_call(*targets_before_ffi(_name))(f.batched(_routine, _ranks, _read))


@custom_call("blas_strsm", "blas_dtrsm", "blas_ctrsm", "blas_ztrsm")
def trsm(frame: Frame, instr: Instruction, *operands: Value) -> Value:
    """X in op(A) X = alpha B, or in X op(A) = alpha B.

    Parameters
    ----------
    operands : left_side, lower, transpose (0, 1, 2 for the adjoint), unit_diagonal, m, n, batch,
        alpha, A, B.
    """
    left, lower, transpose, unit, *_, alpha, a, b = operands
    options = {
        "side": "L" if left else "R",
        "uplo": "L" if lower else "U",
        "trans_x": "NTC"[int(transpose)],
        "diag": "U" if unit else "N",
    }
    return f.batched(f.trsm, (2, 2), lambda: options)(frame, instr, a, alpha * b)
