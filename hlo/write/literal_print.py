"""Writes literals as XLA does: `{ { 1, 2.5 }, { -inf, nan } }`.

Floating-point numbers are written with as few digits as XLA takes, which for small types are as
many as tell any two numbers apart (`max_digits10`), and for f32 and f64 as few as read back right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.nan_text import mantissa_bits, spell_nan

# Digits that XLA tries, and those that always do.
_DIGITS = {"f32": (6, 9), "f64": (15, 17)}
# Fewer elements are not worth being compared with each other.
_FEW = 1_000

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.types.element_type import ElementType
    from hlo.types.literal import Literal


def print_literal(literal: Literal) -> str:
    """The text of a literal, on one line."""
    if literal.shape.is_tuple:
        inner = ", ".join(print_literal(element) for element in literal.elements)
        return f"( {inner} )" if inner else "()"
    if literal.elided or literal.array is None:
        return "{...}"
    array = literal.array
    words = _words(array, literal.shape.element_type)
    if array.ndim == 0:
        if literal.shape.element_type.kind == "pred":
            return "true" if array else "false"
        return words[0]
    return _braces(array.shape, words)


def print_shaped_literal(literal: Literal) -> str:
    """The text of a literal with its shape in front, as in `literal=s32[2]{0} {1, 2}`."""
    if literal.shape.is_tuple:
        inner = ", ".join(print_shaped_literal(element) for element in literal.elements)
        return f"( {inner} )"
    return f"{literal.shape} {print_literal(literal)}"


def _braces(dims: tuple[int, ...], words: list[str]) -> str:
    """Rows in braces. XLA spaces the braces of inner rows, and numbers the planes of rank 4 on."""
    rank = len(dims)
    if rank == 1:
        return "{" + ", ".join(words) + "}"
    width = dims[-1]
    space = " " if width > 1 else ""
    count = len(words) // width if width else int(np.prod(dims[:-1]))
    rows = [
        "{" + space + ", ".join(words[i * width : (i + 1) * width]) + space + "}"
        for i in range(count)
    ]
    for axis in range(rank - 2, -1, -1):
        size = dims[axis]
        outer = int(np.prod(dims[:axis]))
        label = f" /*i{axis - 1}={{}}*/" if rank > 3 and axis > 0 else ""
        parent = dims[axis - 1] if axis else 1
        # An empty row has two blanks, unless a comment is between them and is one of them.
        space = " " if size or not label else ""
        rows = [
            f"{{{label.format(i % parent)}{space}{', '.join(rows[i * size : (i + 1) * size])} }}"
            for i in range(outer)
        ]
    return rows[0] if rows else "{ }"


def _words(array: NDArray[Any], element_type: ElementType) -> list[str]:
    """The elements as words, row by row; equal ones, of which there may be millions, spelt once."""
    flat = array.reshape(-1)
    if flat.size <= _FEW:
        return _spelt(flat, element_type)
    bits = flat.view(f"V{flat.itemsize}") if flat.itemsize > 8 else flat.view(f"u{flat.itemsize}")
    _, first, which = np.unique(bits, return_index=True, return_inverse=True)
    words = _spelt(flat[first], element_type)
    return [words[i] for i in which.tolist()]


def _spelt(flat: NDArray[Any], element_type: ElementType) -> list[str]:
    if element_type.kind == "pred":
        return ["1" if value else "0" for value in flat.tolist()]
    if element_type.is_integer:
        return [str(int(value)) for value in flat]
    if element_type.is_complex:
        parts = _float_words(flat.view(element_type.real.dtype), element_type.real)
        return [f"({re}, {im})" for re, im in zip(parts[::2], parts[1::2], strict=True)]
    return _float_words(flat, element_type)


def _float_words(flat: NDArray[Any], element_type: ElementType) -> list[str]:
    with np.errstate(all="ignore"):  # some small types warn about their own NaNs
        values = flat.astype(np.float64).tolist()
        words = _shortest(values, flat, element_type)
        for i in np.flatnonzero(flat != flat).tolist():
            words[i] = _nan(flat[i], element_type)
    return words


def _shortest(values: list[float], flat: NDArray[Any], element_type: ElementType) -> list[str]:
    """Numbers with so many digits that they read back as the same; but few where these do."""
    if element_type.name not in _DIGITS:
        # max_digits10: 1 + the mantissa's digits times log10(2), rounded up.
        digits = 1 + -(-(mantissa_bits(element_type) + 1) * 30103 // 100000)
        return [f"{value:.{digits}g}" for value in values]
    few, many = _DIGITS[element_type.name]
    words = [f"{value:.{few}g}" for value in values]
    read_back = np.array([float(word) for word in words]).astype(flat.dtype)
    for i in np.flatnonzero(read_back != flat).tolist():
        words[i] = f"{values[i]:.{many}g}"
    return words


def _nan(x: Any, element_type: ElementType) -> str:
    return spell_nan(int(x.view(f"u{x.dtype.itemsize}")), element_type)
