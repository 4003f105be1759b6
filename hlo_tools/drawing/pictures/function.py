"""Draws an elementwise function as tables: x above f(x), or x and y at the sides of f(x, y)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tools.drawing.pictures.elements import CELL, GAP, HIGH, MARGIN, cell, head, width_of
from hlo_tools.drawing.pictures.palette import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

# Backgrounds of numbers below zero, above zero, not a number, and of true.
BELOW, ABOVE, NAN, TRUE = "#dbe9f6", "#fde5d3", "#e6e9ed", "#d9f0d3"
HEADS = "#f6f8fa"


def picture(tables: Sequence[tuple[Sequence[Array], Array]]) -> str:
    """An SVG file of a table for each type of operands, below each other.

    Parameters
    ----------
    tables : the values of each operand, and the result for each combination of them.
    """
    body: list[str] = []
    top, right = float(MARGIN), 0.0
    for operands, result in tables:
        title = f"{operands[0].dtype} → {result.dtype}"
        body.append(text(MARGIN, top + 10, title, "strong"))
        draw = row if len(operands) == 1 else square
        width, height, parts = draw(operands[0], result, top + 18)
        body += parts
        top, right = top + 18 + height + GAP, max(right, width, 7.0 * len(title))
    return "\n".join([*head(right + 2 * MARGIN, top), *body, "</svg>\n"])


def row(x: Array, result: Array, top: float) -> tuple[float, float, list[str]]:
    """Two rows, x and f(x): width, height, elements."""
    wide = max(width_of(x), width_of(result))
    parts = named(MARGIN, top, "x") + named(MARGIN, top + HIGH, "f(x)")
    for n, (value, y) in enumerate(zip(x, result, strict=True)):
        left = MARGIN + CELL + n * wide
        parts += cell(left, top, wide, value, [HEADS])
        parts += cell(left, top + HIGH, wide, y, colours(y))
    return CELL + len(x) * wide, 2 * HIGH, parts


def square(values: Array, result: Array, top: float) -> tuple[float, float, list[str]]:
    """A table with x at the side, y at the top, f(x, y) inside: width, height, elements."""
    wide = max(width_of(values), width_of(result))
    parts = named(MARGIN, top, "x  \\  y")
    for n, value in enumerate(values):
        parts += cell(MARGIN + CELL + n * wide, top, wide, value, [HEADS])
        parts += cell(MARGIN, top + (n + 1) * HIGH, CELL, value, [HEADS])
        for m, y in enumerate(result[n]):
            left = MARGIN + CELL + m * wide
            parts += cell(left, top + (n + 1) * HIGH, wide, y, colours(y))
    return CELL + len(values) * wide, (len(values) + 1) * HIGH, parts


def named(left: float, top: float, name: str) -> list[str]:
    """A name where a cell would be."""
    return [text(left + CELL / 2, top + HIGH / 2 + 4, name, "middle small")]


def colours(value: Any) -> list[str]:
    """The background colours of numbers; none for zero, false, and complex numbers."""
    if np.iscomplexobj(value):
        return []
    if isinstance(value, np.bool_):
        return [TRUE] if value else []
    if np.isnan(value):
        return [NAN]
    return [BELOW] if value < 0 else [ABOVE] if value > 0 else []
