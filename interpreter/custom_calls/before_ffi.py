"""LAPACK as JAX called it until 2024: sizes and options are operands in front of the arrays.

The routines are those of `factorizations`; only the way in which options come is another, and the
results end with room to work in, which stays zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interpreter.custom_calls import factorizations as f
from interpreter.custom_calls.lapack_names import (
    BEFORE_FFI,
    TRIANGULAR_BEFORE_FFI,
    targets_before_ffi,
)
from interpreter.custom_calls.registry import custom_call

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

    Options = dict[str, Any]


def _triangle(lower: Any, *_sizes: Any) -> Options:
    return {"uplo": "L" if lower else "U", "mode": "V"}


def _vectors(full: Any, compute: Any, *_sizes: Any) -> Options:
    return {"mode": "N" if not compute else "A" if full else "S"}


def _nothing(*_sizes: Any) -> Options:
    return {}


_READ = {"triangle": _triangle, "vectors": _vectors, "nothing": _nothing}
for _name, _said in BEFORE_FFI.items():
    custom_call(*targets_before_ffi(_name))(f.batched(*f.ROUTINES[_name], _READ[_said]))


@custom_call(*TRIANGULAR_BEFORE_FFI)
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
        "trans_x": {0: "N", 1: "T"}.get(int(transpose), "C"),
        "diag": "U" if unit else "N",
    }
    return f.batched(f.trsm, (2, 2), lambda: options)(frame, instr, a, alpha * b)
