"""Draws a collective: a row for each device, with its argument and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hlo_tools.drawing.influence import first_array, flat, influence
from hlo_tools.drawing.pictures.elements import ARROW, GAP, LABEL, MARGIN, arrow, grid, head, hues
from hlo_tools.drawing.pictures.palette import text
from interpreter.engine.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo_tools.drawing.opcode_examples import Example

    Array = NDArray[Any]

# Pixels, for the name of a device.
NAME = 64.0


class Coloured(NamedTuple):
    """An array, with the colours of each element."""

    name: str
    array: Array
    colours: list[list[str]]


def picture(example: Example) -> str:
    """An SVG file in which a device and the numbers that depend on it have one colour."""
    names = [p.name for p in example.module.entry.parameters]
    colours = hues(len(example.arguments))
    depends = dependencies(example)
    arguments, results = list[list[Coloured]](), list[Coloured]()
    for own, value, colour in zip(example.arguments, example.results, colours, strict=True):
        arrays = zip(names, map(np.asarray, own), strict=True)
        arguments.append([Coloured(name, a, [[colour]] * a.size) for name, a in arrays])
        result = first_array(value)
        assert result is not None
        sources, depends = depends[: result.size], depends[result.size :]
        of_result = [[colours[d] for d in sorted(sources_of)] for sources_of in sources]
        results.append(Coloured("result", result, of_result))
    return drawn(arguments, results)


def dependencies(example: Example) -> list[set[int]]:
    """For each element of all results, the devices that it depends on."""
    count = len(example.first)
    if not count:
        # Its own number alone.
        return [{d} for d, v in enumerate(example.results) for _ in flat(first_array(v))]

    def run(arguments: Sequence[Array]) -> Array:
        parts = [arguments[n : n + count] for n in range(0, len(arguments), count)]
        results: Any = evaluate(example.module, per_device=parts)
        return np.concatenate([flat(first_array(value)) for value in results])

    own = influence(run, [np.asarray(value) for own in example.arguments for value in own])
    return [{source.argument // count for source in sources} for sources in own.sources]


def drawn(devices: Sequence[Sequence[Coloured]], results: Sequence[Coloured]) -> str:
    """Rows of arguments, below each other, and a column of results."""
    first = MARGIN + NAME
    middle = first + max(
        sum(grid(*argument, 0.0)[0] + GAP for argument in arguments) for arguments in devices
    )
    body, top, right = list[str](), 0.0, 0.0
    for device, (arguments, result) in enumerate(zip(devices, results, strict=True)):
        left, height, parts = first, 0.0, list[str]()
        for argument in arguments:
            width, high, drawing = grid(*argument, left)
            parts += drawing
            left, height = left + width + GAP, max(height, high)
        width, high, drawing = grid(*result, middle + (ARROW if arguments else 0))
        centre = (max(height, high) + MARGIN + LABEL) / 2
        parts += [text(MARGIN, centre + 4, f"device {device}", "strong"), *drawing]
        if arguments:
            parts += arrow(middle, centre)
        body += [f'<g transform="translate(0 {top:.1f})">', *parts, "</g>"]
        top += max(height, high) + GAP
        right = max(right, middle + (ARROW if arguments else 0) + width)
    return "\n".join([*head(right + MARGIN, top + MARGIN), *body, "</svg>\n"])
