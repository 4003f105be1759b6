"""Random shapes; sizes that are easily forgotten are common: 0, 1, and several equal ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import ELEMENT_TYPES, ElementType
from hlo.types.shape import Shape, array

if TYPE_CHECKING:
    from random import Random

# Common types of every kind, and of each the narrow ones.
_NAMES = (
    *("pred", "s4", "s8", "s32", "s64", "u4", "u8", "u32"),
    *("f16", "bf16", "f32", "f64", "f8e5m2", "f8e4m3fn", "c64", "c128"),
)
Types = tuple[ElementType, ...]
Dims = tuple[int, ...]
TYPES: Types = tuple(ELEMENT_TYPES[name] for name in _NAMES)
EQUAL_SIZES = 0.3
SIZES = (0, 1, 1, 2, 2, 2, 3, 3, 3, 4)


def random_dims(random: Random) -> tuple[int, ...]:
    """Up to three dimensions, in which 0 and 1 are common."""
    rank = random.choice((0, 1, 2, 2, 3, 3))
    if random.random() < EQUAL_SIZES:
        # Where all sizes are equal, no shape tells that dimensions were exchanged.
        return (random.choice(SIZES),) * rank
    return tuple(random.choice(SIZES) for _ in range(rank))


def random_shape(random: Random, types: Types = TYPES) -> Shape:
    """An array shape of any element type."""
    return array(random.choice(types), random_dims(random))
