"""Draws the values of a run in the order in which they arise: an instruction, and its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo_tools.drawing.pictures.elements import GAP, HIGH, LABEL, MARGIN, grid, head
from hlo_tools.drawing.pictures.palette import tag, text

if TYPE_CHECKING:
    from hlo_tools.drawing.opcode_examples import Example

# Pixels, and letters of an instruction.
LETTER, MOST_LETTERS = 6.4, 60
HERE = "#fff3c4"


def picture(name: str, example: Example) -> str:
    """An SVG file of the values of a run; the lines of one opcode are coloured."""
    rows = [(f"the host sends, for {taker}", value, False) for taker, value in example.sent]
    for instr, value in example.steps:
        operands = ", ".join(o.name for o in instr.operands)
        line = f"{instr.name} = {instr.opcode}({operands})"
        rows.append((line, value, instr.opcode == name))
    rows += [("the host gets", value, False) for value in example.taken]
    left = MARGIN + LETTER * min(MOST_LETTERS, max(len(line) for line, _, _ in rows)) + 2 * GAP
    top, right, body = float(MARGIN), left, list[str]()
    behind: list[tuple[float, float]] = []
    for line, value, here in rows:
        width, height, parts = shown(value, left, top)
        body += [text(MARGIN, top + height / 2 + 4, line[:MOST_LETTERS], "mono"), *parts]
        if here:
            behind.append((top - GAP / 4, height + GAP / 2))
        top, right = top + height + GAP, max(right, left + width)
    whole = right + MARGIN
    marks = [
        tag("rect", x=4.0, y=y, width=whole - 8, height=height, rx=4, fill=HERE)
        for y, height in behind
    ]
    mono = "<style>.mono{font-family:ui-monospace,monospace}</style>"
    return "\n".join([*head(whole, top), mono, *marks, *body, "</svg>\n"])


def shown(value: Any, left: float, top: float) -> tuple[float, float, list[str]]:
    """A value at a place: an array as a grid, a token as a disc, a tuple in a frame."""
    if value is None:
        disc = tag("circle", "cell", cx=left + HIGH / 2, cy=top + HIGH / 2, r=HIGH / 2 - 5)
        return HIGH + 36, HIGH, [disc, text(left + HIGH + 4, top + HIGH / 2 + 4, "token", "small")]
    if not isinstance(value, tuple):
        array = np.asarray(value)
        if not array.size:
            return 60, HIGH, [text(left, top + HIGH / 2 + 4, "no elements", "small")]
        # A grid writes its title above itself, and begins at the margin.
        plain: list[list[str]] = [[] for _ in range(array.size)]
        width, height, parts = grid(str(array.dtype), array, plain, left)
        return width, height, [f'<g transform="translate(0 {top - MARGIN:.1f})">', *parts, "</g>"]
    parts, across, height = list[str](), left + GAP / 2, 0.0
    for item in cast("tuple[Any, ...]", value):
        width, high, drawn = shown(item, across, top + GAP / 2)
        parts += drawn
        across, height = across + width + GAP, max(height, high)
    height = max(height, LABEL) + GAP
    width = across - left - GAP / 2
    frame = tag("rect", "cell", x=left, y=top, width=width, height=height, rx=6)
    return width, height, [frame, *parts]
