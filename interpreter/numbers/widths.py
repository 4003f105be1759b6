"""Narrow element types in wider NumPy types, and back.

NumPy computes in bool, int8 to uint64, float32, float64 and the complex types. Values of narrower
types are widened first, which is exact, and results are narrowed once: so a bf16 addition is the
f32 addition of the same numbers, rounded, and an s4 addition an s8 addition, wrapped around.
Rounding twice, to f32 and then to less than half its precision, gives for + - * / and the square
root what rounding once gives.

XLA's interpreter does the same. XLA's CPU computes f8 in f16, and narrows that: of its powers,
arc tangents and logistic functions up to one in a hundred lies on a tie only then, and is another
f8 number than here. Its maximum of a number and a NaN of f8 is the number; here it is NaN.

References
----------
XLA's CPU pipeline, FloatNormalization. S. Figueroa, "When is double rounding innocuous?", 1995.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hlo.types.element_type import (
    ARRAY_TYPES,
    ELEMENT_TYPES,
    F4E2M1FN,
    F6E2M3FN,
    F6E3M2FN,
    ElementType,
    element_type_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def _wide_type(element_type: ElementType) -> np.dtype[Any]:
    if element_type.is_floating and element_type.bits < 32:
        return np.dtype(np.float32)
    if element_type.is_integer and element_type.bits < 8:
        return np.dtype(np.int8 if element_type.kind == "signed" else np.uint8)
    return element_type.dtype


# In these types every code is a number; XLA turns NaN into -0.
WITHOUT_NAN = (F4E2M1FN, F6E2M3FN, F6E3M2FN)
_WIDE = {element_type.dtype: _wide_type(element_type) for element_type in ARRAY_TYPES}


# Types that NumPy computes in; the parts of complex results are left to `narrowed`.
COMPUTED = frozenset(t for t in ARRAY_TYPES if _WIDE[t.dtype] == t.dtype and not t.is_complex)


def type_of(value: Array) -> ElementType:
    """The element type of an operand's value."""
    element_type = element_type_of(value.dtype)
    if element_type is None:
        raise TypeError(f"{value.dtype} is no element type of XLA")
    return element_type


def widened(value: Array) -> Array:
    """The same numbers in the type in which NumPy computes with them."""
    return value.astype(_WIDE[value.dtype], copy=False)


def narrowed(result: Any, element_type: ElementType) -> Array:
    """A result in its element type: floats rounded to nearest even, integers wrapped around.

    What a dot of complex numbers may be declared to make is their real part, as by XLA's CPU.
    """
    if np.iscomplexobj(result) and not element_type.is_complex:
        result = np.real(result)
    if element_type in WITHOUT_NAN:
        # The sign of a NaN is an accident of the processor; it must not become that of a zero.
        result = np.where(np.isnan(result), -0.0, result)
    return np.asarray(result).astype(element_type.dtype, copy=False)


def as_signed(value: Array) -> Array:
    """The bits of integers read as two's complement, widened."""
    return widened(widened(value).astype(_twin(value, "s").dtype))


def as_unsigned(value: Array) -> Array:
    """The bits of integers read as unsigned numbers, widened."""
    return widened(widened(value).astype(_twin(value, "u").dtype))


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """The widths of a float's sign, exponent and mantissa, from the top."""

    signed: bool
    exponent_bits: int
    mantissa_bits: int

    @property
    def bits(self) -> int:
        """The width; less than a byte for the types that ml_dtypes keeps in a byte each."""
        return self.signed + self.exponent_bits + self.mantissa_bits


def float_format(dtype: np.dtype[Any]) -> FloatFormat:
    """The format of a floating-point type."""
    info = cast("Any", ml_dtypes.finfo(dtype))
    return FloatFormat(info.nexp + info.nmant < info.bits, info.nexp, info.nmant)


def _twin(value: Array, sign: str) -> ElementType:
    """The integer type of the same width with the other way to read the top bit."""
    return ELEMENT_TYPES[f"{sign}{type_of(value).bits}"]
