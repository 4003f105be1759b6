"""The meaning of opcodes for integers and pred. Results wrap around; none is undefined.

Integers narrower than 8 bits are widened to int8 or uint8, and the result is wrapped to their
width: sums, products and powers modulo 2^8 are right modulo 2^4 too.

References
----------
XLA operation semantics, element-wise operations. What it leaves open is as measured on XLA CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


def clamp(low: Array, x: Array, high: Array) -> Array:
    """The nearest number between two bounds; `high` if they cross."""
    return np.minimum(np.maximum(low, x), high)


def divide(x: Array, y: Array) -> Array:
    """The quotient, truncated towards zero.

    x / 0 is the number with all bits set (-1 or the largest); INT_MIN / -1 wraps to INT_MIN.
    """
    # NumPy's quotient is 0 where y is, and one less than 0 has all bits set.
    return (x - np.fmod(x, y)) // y - (y == 0)


def remainder(x: Array, y: Array) -> Array:
    """The remainder of `divide`, with the sign of x; x itself where y is 0."""
    # NumPy's remainder is 0 where y is.
    return np.fmod(x, y) + x * (y == 0)


def power(x: Array, y: Array) -> Array:
    """X to the power y, wrapped around; 0 to the power 0 is 1.

    For negative y it is 0, save that 1 and -1 have reciprocals among the integers.
    """
    whole = np.power(x, np.maximum(y, 0))
    if np.issubdtype(y.dtype, np.unsignedinteger):
        return whole
    # y & 1 is the parity of negative numbers too; -1 to the power -3 is -1.
    reciprocal = np.where(np.abs(x) == 1, np.where((y & 1) == 1, x, np.abs(x)), np.zeros_like(x))
    return np.where(y < 0, reciprocal, whole)


# fmt: off
INTEGERS: dict[str, Callable[..., Any]] = {
    "abs":        np.abs,
    "add":        np.add,
    "and":        np.bitwise_and,
    "clamp":      clamp,
    "divide":     divide,
    "maximum":    np.maximum,
    "minimum":    np.minimum,
    "multiply":   np.multiply,
    "negate":     np.negative,
    "not":        np.invert,
    "or":         np.bitwise_or,
    "power":      power,
    "remainder":  remainder,
    "sign":       np.sign,
    "subtract":   np.subtract,
    "xor":        np.bitwise_xor,
}

PREDS: dict[str, Callable[..., Any]] = {
    "add":        np.logical_or,
    "and":        np.logical_and,
    "clamp":      clamp,
    "maximum":    np.logical_or,
    "minimum":    np.logical_and,
    "multiply":   np.logical_and,
    "not":        np.logical_not,
    "or":         np.logical_or,
    "xor":        np.logical_xor,
}
# fmt: on
