"""The limits of the size of a value: its bytes must be countable in 64 bits, as XLA counts them."""

from __future__ import annotations

from hlo.errors.error import HloError
from hlo.types.shape import UNBOUNDED, Shape

LIMIT = 1 << 63
# NumPy's arrays have no more dimensions.
MAX_RANK = 64
# How deep tuples may be nested: less than brackets in a text, so that they print. Recursive
# functions walk through them.
MAX_DEPTH = 90


def expect_bounded(shape: Shape) -> None:
    """HLO020 if a value has too many bytes, dimensions or nested tuples.

    The elements or bytes of an array, at any depth, must not overflow a signed 64-bit number.
    Dimensions of size 0 do not help: XLA multiplies the others first.
    """
    if shape.is_array:
        _expect_bounded_array(shape)
        return
    if shape.depth > MAX_DEPTH:
        raise HloError("HLO020", f"tuples are nested more than {MAX_DEPTH} deep")
    # A tuple of tuples may hold one of them many times: each is looked at once.
    seen: set[int] = set()
    stack = list(shape.elements)
    while stack:
        element = stack.pop()
        if id(element) in seen:
            continue
        seen.add(id(element))
        if element.is_array:
            _expect_bounded_array(element)
        stack += element.elements


def _expect_bounded_array(shape: Shape) -> None:
    if shape.rank > MAX_RANK:
        raise HloError("HLO020", f"an array of {shape.rank} dimensions; {MAX_RANK} are the most")
    total = max(shape.element_type.bytes, 1)
    for size in shape.dims:
        total *= max(size, 1) if size != UNBOUNDED else 1
    if total >= LIMIT:
        raise HloError("HLO020", f"{shape.text_without_layout} is too large")
