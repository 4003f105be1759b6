"""How large a value may be: its bytes must be countable in 64 bits, as XLA counts them."""

from __future__ import annotations

from hlo.errors.error import HloError
from hlo.types.shape import UNBOUNDED, Shape

LIMIT = 1 << 63


def expect_bounded(shape: Shape) -> None:
    """HLO020 if the elements or bytes of an array, at any depth, overflow a signed 64-bit number.

    Dimensions of size 0 do not help: XLA multiplies the others first.
    """
    if shape.is_array:
        total = max(shape.element_type.bytes, 1)
        for size in shape.dims:
            total *= max(size, 1) if size != UNBOUNDED else 1
        if total >= LIMIT:
            raise HloError("HLO020", f"{shape.text_without_layout} is too large")
        return
    for element in shape.elements:
        expect_bounded(element)
