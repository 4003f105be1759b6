"""SIMD vectors as types of C: `f32x8` is a vector of eight f32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Collection

    from hlo.types.element_type import ElementType

_NUMBERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f32", "f64")
_LANES = (1, 2, 4, 8, 16, 32, 64)


def vector(kind: ElementType, lanes: int) -> str:
    """The type of vectors of so many numbers, which may lie wherever one of these may."""
    return f"{kind}x{lanes}"


def _typedef(kind: ElementType, lanes: int) -> str:
    attributes = f"vector_size({lanes * kind.bytes}), aligned({kind.bytes})"
    return f"typedef {kind} {vector(kind, lanes)} __attribute__(({attributes}));\n"


_TYPEDEFS = {
    vector(kind, lanes): _typedef(kind, lanes)
    for kind in map(ELEMENT_TYPES.__getitem__, _NUMBERS)
    for lanes in _LANES
}


def typedefs_of_vectors(used: Collection[str]) -> str:
    """The declarations of the vectors among some words."""
    return "".join(typedef for name, typedef in _TYPEDEFS.items() if name in used)
