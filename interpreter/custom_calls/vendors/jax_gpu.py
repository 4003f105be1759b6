"""Custom calls of JAX's GPU backend that are plain arithmetic, for modules captured on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.custom_calls.registry import vendor_call
from interpreter.custom_calls.signatures import Signature, register_signature
from interpreter.random import threefry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]


@vendor_call("cu_threefry2x32_ffi", "hip_threefry2x32_ffi")
def threefry_2x32(
    _frame: Frame, _instr: Instruction, key0: Array, key1: Array, x0: Array, x1: Array
) -> tuple[Array, ...]:
    """Two words of random bits from a key and a counter of two words each, element by element.

    References
    ----------
    `threefry2x32` in `jax/_src/prng.py`.
    """
    return threefry((key0, key1), (x0, x1))


@vendor_call("cu_lu_pivots_to_permutation", "hip_lu_pivots_to_permutation")
def lu_pivots_to_permutation(_frame: Frame, instr: Instruction, pivots: Array) -> Array:
    """The order of rows that a list of exchanges makes: row i with row pivots[i], from 0.

    References
    ----------
    `lu_pivots_to_permutation` in `jax/_src/lax/linalg.py`.
    """
    return permutation(pivots, instr.shape.dims[-1])


def permutation(pivots: Array, count: int) -> Array:
    """The order of so many rows after exchanges: row i with row pivots[..., i], from 0.

    A row that does not exist is exchanged with none; JAX's kernel reads past its array there.
    LAPACK names such rows where a matrix holds NaN.
    """
    rows = np.empty((*pivots.shape[:-1], count), np.int32)
    rows[...] = np.arange(count)
    exists = (pivots >= 0) & (pivots < count)
    for i in range(pivots.shape[-1]):
        other = np.where(exists[..., i : i + 1], pivots[..., i : i + 1], i)
        taken = np.take_along_axis(rows, other, -1)
        np.put_along_axis(rows, other, rows[..., i : i + 1], -1)
        rows[..., i : i + 1] = taken
    return rows


register_signature(
    Signature("u32[*] u32[*] u32[*] u32[*] -> u32[*] u32[*]"),
    *("cu_threefry2x32_ffi", "hip_threefry2x32_ffi"),
)
register_signature(
    Signature("s32[*,p] -> s32[*,n]", needs="needs p <= n", holds=lambda s, _: s["p"] <= s["n"]),
    *("cu_lu_pivots_to_permutation", "hip_lu_pivots_to_permutation"),
)
