"""Doubles as floats of fewer digits, rounded once: NumPy rounds them to f32 first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.element_type import ARRAY_TYPES, F8E8M0FNU, ElementType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

# Floats to which XLA rounds f64 at once.
ROUNDED_ONCE = {t for t in ARRAY_TYPES if t.is_floating and t.bits <= 8} - {F8E8M0FNU}


def to_odd(x: Array) -> Array:
    """f64 as f32, rounded to odd: rounding this to 22 bits or fewer equals rounding the f64 once.

    Digits are cut off, and the last bit is set if any of them was not zero, so the result is a tie
    of the second rounding only if the f64 is one.

    Source: S. Boldo and G. Melquiond, Emulation of a FMA and correctly rounded sums: proved
    algorithms using rounding to odd, IEEE Transactions on Computers 57(4), 2008.
    """
    near = x.astype(np.float32)
    inexact = (near != x) & np.isfinite(near)
    bits = near.view(np.uint32) - (inexact & (np.abs(near) > np.abs(x)))
    return (bits | inexact).astype(np.uint32).view(np.float32)


def rounded(x: Array, kind: ElementType) -> Array:
    """f64 in another type of floats, rounded once."""
    with np.errstate(all="ignore"):
        narrow = kind.dtype.itemsize < np.dtype(np.float32).itemsize
        return (to_odd(x) if narrow else x).astype(kind.dtype)
