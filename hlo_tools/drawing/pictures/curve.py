"""Draws a function of one number as a curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tools.drawing.pictures.elements import head
from hlo_tools.drawing.pictures.palette import tag, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

# Of x and of y, from the middle.
REACH = 4.0
PIXELS, MARGIN = 30.0, 16.0
SIDE = 2 * (REACH * PIXELS + MARGIN)


def points() -> Array:
    """The numbers at which a function is evaluated."""
    return np.linspace(-REACH, REACH, 1025, dtype=np.float32)


def picture(x: Array, y: Array) -> str:
    """An SVG file of the points (x, y), joined where the function has no gap or jump."""
    grid = [
        tag("line", "axis" if n == 0 else "grid", x1=a, y1=b, x2=c, y2=d)
        for n in range(-int(REACH), int(REACH) + 1)
        for a, b, c, d in (
            (*at(n, -REACH), *at(n, REACH)),
            (*at(-REACH, n), *at(REACH, n)),
        )
    ]
    labels = [text(*moved(at(n, 0), -3, 14), str(n), "small") for n in range(-4, 5, 2) if n] + [
        text(*moved(at(0, n), 5, 4), str(n), "small") for n in range(-4, 5, 2) if n
    ]
    curves = [
        tag("path", "curve", d="M" + "L".join("{:.1f} {:.1f}".format(*at(*p)) for p in part))
        for part in pieces(x, y)
    ]
    return "\n".join([*head(SIDE, SIDE), *grid, *labels, *curves, "</svg>\n"])


def at(x: float, y: float) -> tuple[float, float]:
    """The position of a point."""
    return MARGIN + (REACH + x) * PIXELS, MARGIN + (REACH - y) * PIXELS


def moved(start: tuple[float, float], right: float, down: float) -> tuple[float, float]:
    """A position beside another."""
    return start[0] + right, start[1] + down


def pieces(x: Array, y: Array) -> Iterator[Sequence[tuple[float, float]]]:
    """Runs of points that are inside of the picture and near each other."""
    run: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        inside = np.isfinite(point[1]) and abs(point[1]) <= REACH
        if run and (not inside or abs(point[1] - run[-1][1]) > JUMP):
            yield run
            run = []
        if inside:
            run.append(point)
    if run:
        yield run


# Steeper than this between two points is a jump.
JUMP = 0.5
