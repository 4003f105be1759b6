"""Colours and elements of pictures of memory."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from hlo_tools.drawing.pictures.families import family_of
from optimizer.memory.report import in_units

if TYPE_CHECKING:
    from optimizer.analysis.dataflow import Value

# The background is part of the picture, so that it can be read on dark pages too.
STYLE = (
    "text{font:11px ui-sans-serif,system-ui,sans-serif;fill:#1f2328}"
    ".title{font-size:17px;font-weight:600}.strong{font-weight:600}.small{font-size:10px}"
    ".end{text-anchor:end}.middle{text-anchor:middle}.red{fill:#b3261e}"
    ".grid{stroke:#d8dee4;stroke-width:1}.use{fill:#e6e9ed;stroke:#8b949e}"
    ".peak{stroke:#b3261e;stroke-width:1.2;stroke-dasharray:4 3}"
    ".bar{stroke:#ffffff;stroke-width:.6}.bar:hover{stroke:#1f2328;stroke-width:1.6}"
)


def kind_of(value: Value) -> str:
    """The kind of an opcode, as a key of the colours: of a fusion, its heaviest opcode's."""
    return family_of(value.instruction)


def tag(name: str, kind: str = "", title: str = "", /, **attrs: str | float) -> str:
    """An element of SVG; pointing at it shows its title."""
    attributes = {"class": kind, **attrs} if kind else attrs
    spelt = "".join(f' {key}="{_attribute(value)}"' for key, value in attributes.items())
    return (
        f"<{name}{spelt}><title>{_plain(title)}</title></{name}>" if title else f"<{name}{spelt}/>"
    )


def text(x: float, y: float, content: str, kind: str = "", **attrs: str) -> str:
    """Words at a place."""
    spelt = "".join(f' {key}="{value}"' for key, value in attrs.items())
    name = f' class="{kind}"' if kind else ""
    return f'<text{name} x="{x:.1f}" y="{y:.1f}"{spelt}>{_plain(content)}</text>'


def spelled(size: int) -> str:
    """Bytes with the unit that suits them."""
    number, unit = in_units(size)
    return f"{size} B" if unit == "B" else f"{number:.3g} {unit}"


def _attribute(value: str | float) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _plain(content: str) -> str:
    """The characters of a text that XML allows: names of HLO may hold any."""
    return escape("".join(c if c.isprintable() or c == "\n" else "?" for c in content))
