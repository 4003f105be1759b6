"""Opcodes that look at an integer's bits: shifts, counts, and the high half of a product.

They depend on the element type's width, and some read the bits as signed or unsigned whatever the
element type says. So these functions take values of their element type, not widened ones.

References
----------
XLA operation semantics: Shift, Clz, PopulationCount, MulHi. H. S. Warren, "Hacker's Delight".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.numbers.widths import as_signed, as_unsigned, type_of, widened

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


def shift_left(x: Array, distance: Array) -> Array:
    """Bits moved up, zeros moved in; 0 from a distance of the width on.

    A distance is read as unsigned, so a negative one is beyond any width. NumPy defines shifts
    beyond the width as XLA does; C does not.
    """
    return np.left_shift(as_unsigned(x), as_unsigned(distance))


def shift_right_logical(x: Array, distance: Array) -> Array:
    """Bits moved down, zeros moved in; 0 from a distance of the width on."""
    return np.right_shift(as_unsigned(x), as_unsigned(distance))


def shift_right_arithmetic(x: Array, distance: Array) -> Array:
    """Bits moved down, copies of the top bit moved in, for unsigned types too."""
    return np.right_shift(as_signed(x), as_signed(distance))


def popcnt(x: Array) -> Array:
    """The number of bits that are one."""
    return np.bitwise_count(as_unsigned(x))


def count_leading_zeros(x: Array) -> Array:
    """The number of zero bits above the highest one bit; the width for 0.

    Every bit below the highest one bit is set too; the ones that are then there are all others.
    """
    width = type_of(x).bits
    filled = as_unsigned(x)
    for step in (1, 2, 4, 8, 16, 32):
        filled = filled | np.right_shift(filled, min(step, width))
    return width - np.bitwise_count(filled)


def mulhi(x: Array, y: Array) -> Array:
    """The high half of the product that has twice the width."""
    width = type_of(x).bits
    if width == 64:
        return _mulhi_64(x, y)
    double = np.int64 if type_of(x).kind == "signed" else np.uint64
    return np.right_shift(widened(x).astype(double) * widened(y).astype(double), width)


def _mulhi_64(x: Array, y: Array) -> Array:
    """The high half of a product of 64-bit integers, by long multiplication of 32-bit digits."""
    low, ux, uy = 0xFFFFFFFF, as_unsigned(x), as_unsigned(y)
    x0, x1, y0, y1 = ux & low, ux >> 32, uy & low, uy >> 32
    middle = x1 * y0 + (x0 * y0 >> 32)
    carry = ((middle & low) + x0 * y1) >> 32
    high = x1 * y1 + (middle >> 32) + carry
    if type_of(x).kind == "signed":
        # A negative x was read as x + 2^64, which put y too much into the high half.
        high = high - np.where(x < 0, uy, 0) - np.where(y < 0, ux, 0)
    return high


# fmt: off
BITWISE: dict[str, Callable[..., Any]] = {
    "count-leading-zeros":    count_leading_zeros,
    "mulhi":                  mulhi,
    "popcnt":                 popcnt,
    "shift-left":             shift_left,
    "shift-right-arithmetic": shift_right_arithmetic,
    "shift-right-logical":    shift_right_logical,
}
# fmt: on
