"""Draws where the elements of a result come from: arrays as grids, with the same colour for both.

Where elements are only moved, each has a colour of its own. Where they are computed, a few elements
of the result are coloured, and whatever they depend on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tools.drawing.pictures.palette import STYLE, tag, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo_tools.drawing.influence import Influence

    Array = NDArray[Any]

# Pixels.
CELL, HIGH, GAP, MARGIN = 40, 24, 14, 14
LABEL, ARROW, LETTER = 18, 46, 6.0
# They differ without colour vision, and dark letters can be read on them.
FEW = ("#9ecae1", "#f4a582", "#b8e0b0")
LINES = (
    ".cell{fill:none;stroke:#57606a}.axis{stroke:#57606a}"
    ".curve{fill:none;stroke:#0550ae;stroke-width:2}"
)


def hues(count: int) -> list[str]:
    """Light colours around the wheel."""
    return [f"hsl({360 * n // count},70%,{78 + 8 * (n % 2)}%)" for n in range(count)]


def picture(
    names: Sequence[str], arguments: Sequence[Array], result: Array, influences: Influence
) -> str:
    """An SVG file of the arguments, an arrow, and the result."""
    colours, of_result = coloured(arguments, influences)
    left, height = float(MARGIN), 0.0
    body: list[str] = []
    for name, array, colour in zip(names, arguments, colours, strict=True):
        width, high, parts = grid(name, array, colour, left)
        body += parts
        left, height = left + width + GAP, max(height, high)
    width, high, parts = grid("result", result, of_result, left + ARROW)
    height = max(height, high) + 2 * MARGIN
    body += [*arrow(left, (height + LABEL) / 2), *parts]
    return "\n".join([*head(left + ARROW + width + MARGIN, height), *body, "</svg>\n"])


def head(width: float, height: float) -> list[str]:
    """The beginning of a file."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{STYLE}{LINES}</style>",
        tag("rect", width=width, height=height, fill="#ffffff"),
    ]


def arrow(left: float, middle: float) -> list[str]:
    """The arrow between arguments and result."""
    end = left + ARROW - 2 * GAP
    tip = f"M{end - 7:.1f} {middle - 5:.1f}L{end:.1f} {middle:.1f}L{end - 7:.1f} {middle + 5:.1f}"
    line = tag("line", "axis", x1=left, y1=middle, x2=end, y2=middle)
    return [line, tag("path", "axis", d=tip, fill="none")]


def coloured(
    arguments: Sequence[Array], influences: Influence
) -> tuple[list[list[list[str]]], list[list[str]]]:
    """The colours of each element of each argument, and of each of the result."""
    of: list[list[list[str]]] = [[[] for _ in range(a.size)] for a in arguments]
    result: list[list[str]] = [[] for _ in influences.sources]
    if influences.only_moves:
        used = sorted({source for source in influences.moved if source})
        for source, colour in zip(used, hues(len(used)), strict=True):
            of[source.argument][source.element].append(colour)
            for i, moved in enumerate(influences.moved):
                if moved == source:
                    result[i].append(colour)
        return of, result
    for i, colour in zip(chosen(influences), FEW, strict=False):
        result[i].append(colour)
        for source in influences.sources[i]:
            of[source.argument][source.element].append(colour)
    return of, result


def chosen(moved: Influence) -> list[int]:
    """The first, the last and the middle of the elements that depend on different things."""
    different = list({moved.sources[i]: i for i in range(len(moved.sources))[::-1]}.values())[::-1]
    telling = [i for i in different if moved.sources[i]]
    if len(telling) < 3:
        return telling
    return [telling[0], telling[-1], telling[len(telling) // 2]]


def grid(
    name: str, array: Array, colours: Sequence[Sequence[str]], left: float
) -> tuple[float, float, list[str]]:
    """An array as panes of rows, below each other, with its name above: width, height, elements."""
    rows = array.reshape(-1, array.shape[-1]) if array.ndim else array.reshape(1, 1)
    wide = width_of(array)
    per_pane = array.shape[-2] if array.ndim > 1 else 1
    dims = ",".join(map(str, array.shape))
    parts = [text(left, MARGIN + 10, f"{name} [{dims}]", "strong")]
    top = float(MARGIN + LABEL)
    for r, row in enumerate(rows):
        if r and r % per_pane == 0:
            top += GAP / 2
        for c, value in enumerate(row):
            parts += cell(left + c * wide, top, wide, value, colours[r * len(row) + c])
        top += HIGH
    width = max(rows.shape[1] * wide, 7.0 * len(f"{name} [{dims}]"))
    return width, top - MARGIN, parts


def cell(x: float, y: float, width: float, value: Any, colours: Sequence[str]) -> list[str]:
    """One element; with several colours, a stripe of each."""
    wide = width / max(1, len(colours))
    parts = [
        tag("rect", x=x + n * wide, y=y, width=wide, height=HIGH, fill=colour)
        for n, colour in enumerate(colours)
    ]
    parts.append(tag("rect", "cell", x=x, y=y, width=width, height=HIGH))
    return [*parts, text(x + width / 2, y + HIGH / 2 + 4, number(value), "middle small")]


def width_of(array: Array) -> float:
    """The width of an array's cells."""
    return max([CELL, *(8 + LETTER * len(number(value)) for value in array.ravel())])


def number(value: Any) -> str:
    """A number in few letters; whole numbers with all of their digits."""
    if np.iscomplexobj(value):
        return f"{value:.2g}"
    if np.asarray(value).dtype.kind in "iu":
        return str(int(value))
    return f"{float(value):.3g}"
