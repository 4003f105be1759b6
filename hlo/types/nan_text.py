"""NaNs as text: `nan`, `-nan`, and `nan(0x7)` with a payload that is not the usual one.

IEEE types keep a sign and a payload in a NaN. The types whose names hold `fn` have one NaN, or one
of each sign; `fnuz` types have no sign to give it, for their NaN is the pattern of -0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes

if TYPE_CHECKING:
    from hlo.types.element_type import ElementType


def mantissa_bits(element_type: ElementType) -> int:
    """The width in bits of a floating-point type's mantissa, without the hidden bit."""
    finfo: Any = ml_dtypes.finfo
    return int(finfo(element_type.dtype).nmant)


def nan_bits(usual: int, element_type: ElementType, payload: int | None, *, negative: bool) -> int:
    """The bits of a NaN.

    Parameters
    ----------
    usual : the bits of the NaN that the type has by itself.
    payload : the mantissa, from 1 to all ones; None for the usual one.

    Raises
    ------
    ValueError
        if the payload does not fit into the mantissa, or the type has but one NaN.
    """
    sign = 1 << (element_type.bits - 1)
    if "fn" in element_type.name:
        if payload is not None:
            raise ValueError(f"a NaN of {element_type} has no payload")
        return usual | sign if negative and _has_sign(element_type) else usual
    mantissa = (1 << mantissa_bits(element_type)) - 1
    if payload is not None:
        if not 0 < payload <= mantissa:
            raise ValueError(f"NaN payload {payload:#x} is not from 0x1 to {mantissa:#x}")
        usual = (usual & ~mantissa) | payload
    return usual | sign if negative else usual & ~sign


def spell_nan(bits: int, element_type: ElementType) -> str:
    """The text of a NaN with these bits."""
    if "fn" in element_type.name and not _has_sign(element_type):
        # XLA shows the sign bit of the one NaN that fnuz types have.
        return "-nan" if "uz" in element_type.name else "nan"
    sign = "-" if bits >> (element_type.bits - 1) else ""
    if "fn" in element_type.name:
        return sign + "nan"
    mantissa = mantissa_bits(element_type)
    payload = bits & ((1 << mantissa) - 1)
    quiet = 1 << (mantissa - 1)
    return f"{sign}nan" if payload == quiet else f"{sign}nan({payload:#x})"


def _has_sign(element_type: ElementType) -> bool:
    """Whether a type with one NaN has it with both signs."""
    return "uz" not in element_type.name and "fnu" not in element_type.name
