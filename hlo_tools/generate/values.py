"""Random arrays in which troublesome values are common: NaN, zeros, infinities, extremes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from hlo.types.shape import array, tuple_of
from hlo_tools.values.arrays import tree
from interpreter.numbers.widths import widened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from numpy.typing import NDArray

    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

    Array = NDArray[Any]

_WHOLE = (0, 1, -1, 2, 3, -2, 5, 7)
# Of larger arrays, so many elements are drawn and then repeated.
MOST_DRAWN = 4096
_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, np.nan, 3.0, -1.5)


def nasty(shape: Shape, random: Random) -> Any:
    """A value of a shape with all that may surprise: about half of its numbers are special."""
    return tree(shape, lambda leaf: _nasty_array(leaf, random))


def _nasty_array(shape: Shape, random: Random) -> Array:
    """An array of special numbers, extremes of the type, and ordinary ones."""
    element_type = shape.element_type
    if element_type.is_complex:
        return _complex(shape, random, _nasty_array)
    numbers = [_nasty_number(element_type, random) for _ in range(min(shape.size, MOST_DRAWN))]
    return _array(numbers, shape)


def tame(shape: Shape, random: Random) -> Any:
    """A value of a shape whose floats are neither special, large nor small."""
    return tree(shape, lambda leaf: _tame_array(leaf, random))


def _tame_array(shape: Shape, random: Random) -> Array:
    """An array of floats from 0.25 to 4 of either sign; other types as nasty ones."""
    element_type = shape.element_type
    if element_type.is_complex:
        return _complex(shape, random, _tame_array)
    if not element_type.is_floating:
        return _nasty_array(shape, random)
    count = min(shape.size, MOST_DRAWN)
    numbers = [random.choice((-1, 1)) * 4 ** random.uniform(-1, 1) for _ in range(count)]
    return _array(numbers, shape)


def ends(shape: Shape, random: Random) -> Any:
    """A value of numbers at the ends of their type, and of those around which signs change."""
    return tree(shape, lambda leaf: _ends_array(leaf, random))


def _ends_array(shape: Shape, random: Random) -> Array:
    if shape.element_type.is_complex:
        return _complex(shape, random, _ends_array)
    numbers = _ends_of(shape.element_type)
    return _array(random.choices(numbers, k=min(shape.size, MOST_DRAWN)), shape)


def specials(element_type: ElementType) -> Array:
    """Numbers of a type of which each is treated alone somewhere: at most 16, NaN the last."""
    if element_type.kind == "pred":
        numbers: list[Any] = [False, True]
    elif element_type.is_integer:
        low, high = _range_of(element_type)
        near = (
            low,
            low + 1,
            high,
            high - 1,
            -1,
            0,
            1,
            2,
            3,
            -7,
            31,
            100,
            -100,
            high // 2,
            low // 2,
        )
        numbers = list(dict.fromkeys(n for n in near if low <= n <= high))
    else:
        info = _finfo(element_type.dtype)
        numbers = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.75, 300.7, float(info.max), -7e9]
        numbers += [float(info.tiny), np.inf, -np.inf, 1.0009765625, np.nan]
    return _array(numbers, array(element_type, (len(numbers),)))


@cache
def _ends_of(element_type: ElementType) -> list[Any]:
    if element_type.kind == "pred":
        return [False, True]
    if element_type.is_integer:
        low, high = _range_of(element_type)
        around = range(max(-1, low), 3)
        return [low, low, high, high, low + 1, high - 1, *around]
    info = _finfo(element_type.dtype)
    numbers = [0.0, 1.0, info.max, info.tiny, info.smallest_subnormal, np.inf]
    return [np.nan, np.nan, *[sign * float(n) for n in numbers for sign in (1, -1)], 0.0, -0.0]


def scaled(shape: Shape, random: Random) -> Any:
    """A value of tame floats times powers of two, one for each array or one for each element."""
    return tree(shape, lambda leaf: _scaled_array(leaf, random))


def _scaled_array(shape: Shape, random: Random) -> Array:
    if not shape.element_type.real.is_floating:
        return _nasty_array(shape, random)
    alike = random.random() < 0.5
    count = 1 if alike else min(shape.size, MOST_DRAWN)
    return _times(shape, [_power_of_two(shape.element_type, random) for _ in range(count)], random)


def _power_of_two(element_type: ElementType, random: Random) -> float:
    most = int(np.log2(float(_finfo(element_type.real.dtype).max))) - 2
    return 2.0 ** random.choice((random.randint(-most, most), random.randint(-9, 4)))


def far(element_type: ElementType, end: int, random: Random) -> float:
    """A float so large (`end` is 1) or so small (-1) that the product of two is out of range."""
    most = np.log2(float(_finfo(element_type.real.dtype).max))
    return 2.0 ** (end * most * random.uniform(0.55, 0.9))


def exponents(shape: Shape, random: Random) -> Any:
    """A value of floats around those whose exponential overflows, or is 0."""
    return tree(shape, lambda leaf: _exponents_array(leaf, random))


def _exponents_array(shape: Shape, random: Random) -> Array:
    if not shape.element_type.real.is_floating:
        return _nasty_array(shape, random)
    most = float(np.log(float(_finfo(shape.element_type.real.dtype).max)))
    if random.random() < 0.5:
        large = np.abs(_times(shape, [most], random)) * random.choice((1, -1))
        return large.astype(shape.element_type.dtype)  # those of complex numbers are real
    return _times(shape, [most * random.uniform(0, 0.5) for _ in range(16)], random)


def _times(shape: Shape, factors: Sequence[float], random: Random) -> Array:
    """Tame floats, times factors in turn."""
    with np.errstate(all="ignore"):
        wide = widened(_tame_array(shape, random))
        return (wide * np.resize(factors, shape.dims)).astype(shape.element_type.dtype)


def _array(numbers: Sequence[Any], shape: Shape) -> Array:
    """The numbers as an array, again and again where they are too few."""
    with np.errstate(all="ignore"):
        dtype = shape.element_type.dtype
        wide = np.array(numbers, dtype=None if numbers else np.float32)
        return np.resize(wide.astype(dtype), shape.dims)


_finfo: Any = ml_dtypes.finfo


def _nasty_number(element_type: ElementType, random: Random) -> Any:
    if element_type.kind == "pred":
        return random.random() < 0.5
    special = random.random() < 0.5
    if element_type.is_integer:
        return _nasty_integer(element_type, random, special)
    if not special:
        return random.gauss(0, 1) * random.choice((1, 1, 1, 100))
    if random.random() < 0.3:
        info = _finfo(element_type.dtype)
        limits = (info.max, info.min, info.tiny, info.smallest_subnormal, info.eps)
        return float(random.choice(limits))
    return random.choice(_SPECIAL)


def _nasty_integer(element_type: ElementType, random: Random, special: bool) -> int:
    low, high = _range_of(element_type)
    if special:
        chosen = random.choice((low, high, *_WHOLE))
    else:
        chosen = random.randint(max(low, -100), min(high, 100))
    return min(max(chosen, low), high)


def _range_of(element_type: ElementType) -> tuple[int, int]:
    low = -(1 << element_type.bits - 1) if element_type.kind == "signed" else 0
    return low, low + (1 << element_type.bits) - 1


def _complex(shape: Shape, random: Random, part: Any) -> Array:
    real = shape.with_type(shape.element_type.real)
    whole = np.empty(shape.dims, shape.element_type.dtype)
    whole.real, whole.imag = part(real, random), part(real, random)
    return whole


def sized(shapes: Sequence[Shape], random: Random) -> list[Shape]:
    """Shapes without run-time sizes: each gets a size, and equal bounds, half the time, the same.

    Arrays that are added up must be of one size, and each may be of any.
    """
    known: dict[int, int] = {}
    alike = random.random() < 0.5

    def size(bound: int) -> int:
        chosen = random.choice((bound, random.randint(0, bound)))
        return known.setdefault(bound, chosen) if alike else chosen

    def change(shape: Shape) -> Shape:
        if shape.is_tuple:
            return tuple_of(*map(change, shape.elements))
        if not shape.is_array or not shape.is_dynamic:
            return shape
        pairs = zip(shape.dims, shape.dynamic, strict=True)
        return shape.with_dims(tuple(size(n) if bounded else n for n, bounded in pairs))

    return list(map(change, shapes))


def small(shape: Shape, random: Random) -> Any:
    """A value of whole numbers from -2 to 5: small enough to be indices, and often equal."""
    return tree(shape, lambda leaf: _array(_whole(leaf, random), leaf))


def equal(shape: Shape, random: Random) -> Any:
    """A value whose arrays hold one special number each."""
    return tree(shape, lambda leaf: np.broadcast_to(_nasty_array(_scalar(leaf), random), leaf.dims))


def ascending(shape: Shape, random: Random) -> Any:
    """A value whose arrays are sorted, NaN last."""
    return tree(shape, lambda leaf: _sorted(_nasty_array(leaf, random)))


def counting(shape: Shape, random: Random) -> Any:
    """A value whose elements all differ, as far as the type has so many: 1, 2, 3, ..."""
    start = random.choice((0, 1, 1, 2))
    return tree(shape, lambda leaf: _array(range(start, start + leaf.size), leaf))


def _scalar(shape: Shape) -> Shape:
    return shape.with_dims(())


def _whole(shape: Shape, random: Random) -> list[int]:
    low = 0 if shape.element_type.kind in ("unsigned", "pred") else -2
    high = 1 if shape.element_type.kind == "pred" else 5
    return [random.randint(low, high) for _ in range(min(shape.size, MOST_DRAWN))]


def _sorted(array: Array) -> Array:
    if array.dtype.kind == "c" or not array.size:
        return array
    order = np.argsort(array.reshape(-1).astype(np.float64), kind="stable")
    return array.reshape(-1)[order].reshape(array.shape)


# Ways to fill arguments, by name.
STYLES = {
    "nasty": nasty,
    "ends": ends,
    "tame": tame,
    "scaled": scaled,
    "exponents": exponents,
    "small": small,
    "equal": equal,
    "ascending": ascending,
    "counting": counting,
}
