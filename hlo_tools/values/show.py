"""Values for people: small arrays whole, large ones by what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.element_type import element_type_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]

Value = Any  # an array, None for a token, or a tuple of values

WHOLE = 100  # elements that are shown one by one
FIRST = 5  # elements that are shown of larger arrays
WIDTH = 96  # columns


def spell(value: Value, index: tuple[int, ...] = (), whole: int = WHOLE) -> Iterator[str]:
    """The lines of a value: each array under its shape, with its index in nested tuples.

    Parameters
    ----------
    whole : elements up to which an array is shown element by element.
    """
    path = "".join(f"{{{i}}}" for i in index) + " " if index else ""
    if isinstance(value, tuple):
        if not value:
            yield path + "()"
        for i, element in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from spell(element, (*index, i), whole)
    elif value is None:
        yield path + "token[]"
    else:
        yield from (path + spell_array(value, whole)).splitlines()


def spell_in_a_line(value: Value, whole: int = WHOLE) -> str:
    """The value in one line, however long.

    Parameters
    ----------
    whole : as of `spell`.
    """
    return " ".join(" ".join(spell(value, whole=whole)).split())


def spell_array(array: Array, whole: int = WHOLE) -> str:
    """The shape, and the elements or a summary of them.

    Parameters
    ----------
    whole : elements up to which all are shown.
    """
    element_type = element_type_of(array.dtype)
    shape = f"{element_type or array.dtype}[{','.join(map(str, array.shape))}]"
    numbers = printable(array)
    if array.size > whole:
        return f"{shape} {summary(numbers)}"
    text = np.array2string(numbers, max_line_width=WIDTH, separator=", ")
    return f"{shape} {text}" if "\n" not in text else f"{shape}\n{text}"


def summary(numbers: Array) -> str:
    """Least, greatest and mean element, how many are NaN or infinite, and the first few."""
    first = ", ".join(f"{x:.6g}" for x in numbers.flat[:FIRST])
    if numbers.dtype.kind == "c":
        return f"{first}, ..."
    finite = numbers[np.isfinite(numbers)]
    parts = [f"{numbers.size - finite.size} not finite"] if finite.size < numbers.size else []
    if finite.size:
        parts = [
            f"min {finite.min():.6g}",
            f"max {finite.max():.6g}",
            f"mean {finite.mean():.6g}",
            *parts,
        ]
    return f"{', '.join(parts)}: {first}, ..."


def printable(array: Array) -> Array:
    """The array under a type that NumPy prints by itself, and knows the functions of."""
    element_type = element_type_of(array.dtype)
    if element_type is None or array.dtype.isbuiltin == 1:
        return array.astype(np.int8) if array.dtype == np.bool_ else array
    return array.astype(np.int8 if element_type.is_integer else np.float32)


def duration(seconds: float) -> str:
    """A time with three digits: 1.23 ms."""
    for unit, size in (("s", 1), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def spelled_bytes(count: int) -> str:
    """A size with three digits: 1.23 MB."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
