"""Draws the picture of a module as SVG, without any other program.

Boxes with boxes inside are made from the inside out: first each panel is laid out, then it is one
large box in the layout around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING

from hlo_tools.drawing.graphs.layers import LayeredLayout, lay_out
from hlo_tools.drawing.pictures.families import COLOURS
from hlo_tools.drawing.pictures.palette import tag, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo_tools.drawing.graphs.scene import Box, Edge, Scene

# Pixels.
_TITLE, _LINE, _LETTER, _TITLE_LETTER = 17.0, 14.0, 6.65, 8.3
_INSET, _MARGIN, _PANEL_HEAD, _PANEL_GAP = 9.0, 20.0, 20.0, 14.0
_HEAD, _FOOT = 52.0, 40.0
_LEAST_WIDTH = 72.0
# An edge from a number that has no box: its length, and a letter of its label.
_STUB, _SMALL_LETTER = 15.0, 6.1
_MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_SANS = "ui-sans-serif,system-ui,'Segoe UI','DejaVu Sans',sans-serif"
STYLE = (
    f"text{{font:11px {_MONO};fill:#1f2328}}"
    f".title{{font:600 17px {_SANS}}}.sub{{font:12px {_SANS};fill:#57606a}}"
    f".op{{font:600 13px {_SANS}}}.dim{{fill:#57606a}}.key{{font:12px {_SANS}}}"
    f".panel{{font:600 11px {_SANS};fill:#57606a}}.frame{{fill:#ffffff;fill-opacity:.72}}"
    ".size{font-size:10px;fill:#57606a;paint-order:stroke;stroke:#ffffff;stroke-width:3px}"
    ".number{font-size:10px;paint-order:stroke;stroke:#ffffff;stroke-width:3px}"
    ".edge{fill:none;stroke:#6e7781;stroke-opacity:.75}.control{stroke-dasharray:4 4}"
    ".box{stroke:#57606a;stroke-width:1}.root{stroke:#1f2328;stroke-width:2.4}"
    ".cut{stroke-dasharray:5 4}g.i:hover>.box{stroke:#0550ae;stroke-width:2.4}"
)
_DARK = "#6e7781"
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" '
    f'fill="{_DARK}"/></marker></defs>'
)


@dataclass(frozen=True, eq=False)
class PlacedScene:
    """A scene with its layout; `panels` are those of each box, and `sizes` the boxes' own."""

    scene: Scene
    layout: LayeredLayout
    sizes: tuple[tuple[float, float], ...]
    panels: tuple[tuple[PlacedScene, ...], ...]


def draw(scene: Scene, title: str, subtitle: str = "", *, legend: bool = True) -> str:
    """An SVG file of a scene under a title.

    Parameters
    ----------
    legend : whether the families of the colours are named at the foot.
    """
    placed = place(scene)
    families = [name for name in COLOURS if legend and name in scene.families]
    key_width = sum(34 + 7 * len(name) for name in families)
    heading = max(10 * len(title), 7 * len(subtitle))
    width = max(placed.layout.width, key_width, heading, 200) + 2 * _MARGIN
    height = placed.layout.height + _HEAD + _FOOT + _MARGIN
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    left = (width - placed.layout.width) / 2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<style>{STYLE}</style>",
        _TIP,
        tag("rect", width=width, height=height, rx=8, fill="#ffffff"),
        text(_MARGIN, 26, title, "title"),
        text(_MARGIN, 43, subtitle, "sub"),
        *_drawn(placed, left, _HEAD + 8),
        *_key(families, height - 22),
    ]
    return "\n".join([*lines, "</svg>\n"])


def place(scene: Scene) -> PlacedScene:
    """Lay out a scene and all inside of it, however deep they lie in each other."""
    order = [scene]
    for current in order:
        order += [panel for box in current.boxes for panel in box.panels]
    done: dict[Scene, PlacedScene] = {}
    for current in reversed(order):
        panels = tuple(tuple(done[panel] for panel in box.panels) for box in current.boxes)
        sizes = tuple(_size(box, inner) for box, inner in zip(current.boxes, panels, strict=True))
        layout = lay_out(sizes, [(edge.source, edge.target) for edge in current.edges])
        done[current] = PlacedScene(current, layout, sizes, panels)
    return done[scene]


def _size(box: Box, panels: tuple[PlacedScene, ...]) -> tuple[float, float]:
    """Width and height that a box needs."""
    letters = max((len(line) for line in box.lines), default=0)
    labels = sum(len(number) * _SMALL_LETTER + _STUB for number in box.numbers)
    width = max(letters * _LETTER, len(box.title) * _TITLE_LETTER, labels, _LEAST_WIDTH)
    width += 2 * _INSET
    height = _TITLE + _LINE * len(box.lines) + 1.4 * _INSET
    if panels:
        inside = sum(_frame(p)[0] for p in panels) + _PANEL_GAP * (len(panels) + 1)
        width = max(width, inside)
        height += max(_frame(p)[1] for p in panels) + _PANEL_GAP
    return width, height


def _frame(panel: PlacedScene) -> tuple[float, float]:
    """The size of a panel with its title."""
    title = len(panel.scene.title) * 6.4
    width = max(panel.layout.width, title) + 2 * _INSET
    return width, panel.layout.height + _PANEL_HEAD + 2 * _INSET


def _drawn(placed: PlacedScene, left: float, top: float) -> Iterator[str]:
    """The elements of a scene and of all inside of it, the outermost first."""
    pending = [(placed, left, top)]
    while pending:
        current, x, y = pending.pop(0)
        yield from _edges(current, x, y)
        for number, box in enumerate(current.scene.boxes):
            (centre_x, centre_y), (width, height) = (
                current.layout.centres[number],
                current.sizes[number],
            )
            corner_x, corner_y = x + centre_x - width / 2, y + centre_y - height / 2
            panels = current.panels[number]
            yield from _box(box, corner_x, corner_y, width, height, bool(panels))
            inner_x = corner_x + _PANEL_GAP
            inner_y = corner_y + _TITLE + _LINE * len(box.lines) + 1.4 * _INSET
            for panel in panels:
                frame_width, frame_height = _frame(panel)
                frame = {"x": inner_x, "y": inner_y, "width": frame_width, "height": frame_height}
                yield tag("rect", "frame", rx=5, **frame)
                yield text(inner_x + _INSET, inner_y + 14, panel.scene.title, "panel")
                centred = inner_x + (frame_width - panel.layout.width) / 2
                pending.append((panel, centred, inner_y + _PANEL_HEAD + _INSET / 2))
                inner_x += frame_width + _PANEL_GAP


def _box(
    box: Box, x: float, y: float, width: float, height: float, has_panels: bool
) -> Iterator[str]:
    """An instruction; pointing at it shows its text."""
    kind = "box" + (" root" if box.is_root else "") + (" cut" if box.is_cut else "")
    drawn: dict[str, str | float] = {"x": x, "y": y, "width": width, "height": height, "rx": 6}
    if has_panels:
        drawn["fill-opacity"] = "0.45"
    drawn["fill"] = COLOURS[box.family]
    stub = x + _INSET
    for number in box.numbers:
        line = f"M{stub:.1f} {y - _STUB:.1f}V{y:.1f}"
        yield f'<path class="edge" stroke-width="1.1" d="{line}" marker-end="url(#tip)"/>'
        yield text(stub + 5, y - 5, number, "number")
        stub += len(number) * _SMALL_LETTER + _STUB
    yield f'<g class="i">{tag("rect", kind, box.about, **drawn)}'
    yield text(x + _INSET, y + _TITLE, box.title, "op")
    for number, line in enumerate(box.lines):
        dim = "dim" if number == 0 else ""
        yield text(x + _INSET, y + _TITLE + _LINE * (number + 1), line, dim)
    yield "</g>"


def _edges(placed: PlacedScene, left: float, top: float) -> Iterator[str]:
    edges: dict[int, list[Edge]] = {}
    pairs: dict[tuple[int, int], Edge] = {}
    for edge in placed.scene.edges:
        edges.setdefault(edge.source, []).append(edge)
        pairs.setdefault((edge.source, edge.target), edge)
    labelled: set[int] = set()
    for segment in placed.layout.segments:
        source = edges[segment.source]
        only_control = all(edge.is_control for edge in source)
        ends = pairs.get((segment.source, segment.target)) if segment.target is not None else None
        control = ends.is_control if ends else only_control
        (x, y), (end_x, end_y) = segment.start, segment.end
        x, y, end_x, end_y = x + left, y + top, end_x + left, end_y + top
        middle = (y + end_y) / 2
        curve = f"{x:.1f} {middle:.1f} {end_x:.1f} {middle:.1f} {end_x:.1f} {end_y:.1f}"
        tip = "" if segment.target is None else ' marker-end="url(#tip)"'
        kind = "edge control" if control else "edge"
        line = f'class="{kind}" stroke-width="{_thickness(source[0].size):.1f}"'
        yield f'<path {line} d="M{x:.1f} {y:.1f}C{curve}"{tip}/>'
        label = next((edge.label for edge in source if edge.label), "")
        if segment.is_first and label and segment.source not in labelled:
            labelled.add(segment.source)
            yield text(x + 5, y + 12, label, "size")


def _thickness(size: int) -> float:
    """The width of an edge's line, which grows with its bytes."""
    return 1.1 + max(0.0, log10(max(size, 1) / 1024)) * 0.7


def _key(families: list[str], y: float) -> Iterator[str]:
    """The meaning of the colours."""
    x = _MARGIN
    for family in families:
        yield tag(
            "rect", x=x, y=y - 10, width=12, height=12, rx=2, fill=COLOURS[family], stroke=_DARK
        )
        yield text(x + 17, y, family, "key")
        x += 34 + 7 * len(family)
