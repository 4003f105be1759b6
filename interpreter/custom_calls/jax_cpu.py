"""Custom calls of JAX's CPU backend that are no routines of LAPACK."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.custom_calls.factorizations import batched
from interpreter.custom_calls.registry import custom_call
from interpreter.custom_calls.signatures import Signature, checked, register_signature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]

_NUMBERS = ("s32", "s64", "f32", "f64", "c64", "c128")
_COUNTERS = ("s32", "s64")


# ------------------------------------------------------------------ tridiagonal systems


def solve_tridiagonal(
    _letter: str, _options: dict[str, Any], lower: Array, diagonal: Array, upper: Array, x: Array
) -> tuple[Array]:
    """X in T X = B for a tridiagonal T that may be singular: small pivots are moved away from 0.

    The first element of the lower diagonal and the last of the upper one are not used. Rows are
    exchanged where the pivot below is larger, measured by its own row; then X is found from the
    last row to the first.

    Parameters
    ----------
    lower, diagonal, upper : of n numbers.
    x : n rows of B, which become those of X.

    References
    ----------
    LAPACK, `xLAGTF` and `xLAGTS`; JAX, `jaxlib/tridiagonal_solve_perturbed.h`.
    """
    n, second = len(diagonal), np.zeros_like(diagonal)
    upper[n - 1 :] = 0
    largest = np.abs([*diagonal[:1], *upper[:1]]).max(initial=0)
    scale = np.abs(diagonal[:1]).sum() + np.abs(upper[:1]).sum()
    for k in range(n - 1):
        pivot, below = diagonal[k], lower[k + 1]
        scale_below = np.abs(below) + np.abs(diagonal[k + 1]) + np.abs(upper[k + 1])
        share = np.abs(pivot) / scale if pivot != 0 else 0
        if below == 0:
            scale = scale_below
        elif np.abs(below) / scale_below <= share:
            factor, scale = below / pivot, scale_below
            diagonal[k + 1] -= factor * upper[k]
            x[k + 1] -= factor * x[k]
        else:
            factor = pivot / below
            beside, upper[k] = upper[k], diagonal[k + 1]
            diagonal[k], diagonal[k + 1] = below, beside - factor * diagonal[k + 1]
            second[k], upper[k + 1] = upper[k + 1], -factor * upper[k + 1]
            x[k], x[k + 1] = x[k + 1].copy(), x[k] - factor * x[k + 1]
            scale = np.abs(diagonal[k + 1]) + np.abs(upper[k + 1])
        if k < n - 2:
            largest = max(largest, *np.abs([diagonal[k], upper[k], second[k]]))
    largest = max(largest, *np.abs(diagonal[n - 1 :]))
    for k in reversed(range(n)):
        for row, factor in ((k + 1, upper[k]), (k + 2, second[k])):
            if row < n:
                x[k] -= factor * x[row]
        pivot, row = _moved(diagonal[k], x[k], np.finfo(x.dtype).eps * largest)
        x[k] = row * (1 / pivot)
    return (x,)


def _moved(pivot: Any, row: Array, step: Any) -> tuple[Any, Array]:
    """A pivot by which no element of a row can be divided to infinity, and the row for it."""
    tiny = np.finfo(row.dtype).tiny
    step = np.copysign(max(np.abs(step), tiny), pivot.real)
    most = np.abs(row).max(initial=0)
    while (size := np.abs(pivot)) < 1:
        if size >= tiny and not most > size / tiny:
            break
        if 0 < size < tiny and not most * tiny > size:
            return pivot / tiny, row / tiny
        pivot, step = pivot + step, 2 * step
    return pivot, row


register_signature(
    Signature("T[*,n] T[*,n] T[*,n] T[*,n,r] -> T[*,n,r]"), "tridiagonal_solve_perturbed_ffi"
)
custom_call("tridiagonal_solve_perturbed_ffi")(batched(solve_tridiagonal, (1, 1, 1, 2)))


# ------------------------------------------------------------------ sparse matrices


@custom_call("cpu_csr_sparse_dense_ffi")
def sparse_product(_frame: Frame, instr: Instruction, *operands: Array) -> Array:
    """The product of a sparse matrix, in rows one after the other, and a dense one or a vector.

    Row i has the values from starts[i] to starts[i + 1], each in a column. What lies outside of
    the values or of the dense matrix counts as nothing; jaxlib reads it from somewhere.

    Parameters
    ----------
    operands : values[n], starts[rows + 1], columns[n], and dense[columns, m] or dense[columns].

    References
    ----------
    JAX, `jaxlib/cpu/sparse_kernels.cc`.
    """
    values, starts, columns, dense = operands
    product = np.zeros(instr.shape.dims, values.dtype)
    ends = np.clip(starts, 0, len(values))
    for row, (begin, end) in enumerate(pairwise(ends)):
        for k in range(begin, end):
            if 0 <= columns[k] < len(dense):
                product[row] += values[k] * dense[columns[k]]
    return product


@checked(
    "cpu_csr_sparse_dense_ffi",
    note="T[n] values, I[rows + 1] starts, I[n] columns, T[columns, m]; I: s32 or s64",
)
def check_sparse_product(instr: Instruction, _options: Options | None) -> str:
    """The fault in the types and shapes of `sparse_product`."""
    match [o.shape for o in instr.operands]:
        case [values, starts, columns, dense] if (
            (values.rank, starts.rank, columns.rank) == (1, 1, 1)
            and dense.rank in (1, 2)
            and values.dims == columns.dims
            and instr.shape.dims == (starts.dims[0] - 1, *dense.dims[1:])
            and values.element_type.name in _NUMBERS
            and values.element_type == dense.element_type == instr.shape.element_type
            and starts.element_type.name in _COUNTERS
            and starts.element_type == columns.element_type
        ):
            return ""
        case _:
            return "is no product of a sparse and a dense matrix"
