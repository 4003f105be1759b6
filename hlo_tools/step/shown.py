"""Lines for people: as plain text, with colours on a terminal, or as HTML in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The kinds of lines, with their colours on a terminal, and in a notebook.
STYLES: Final = {
    "": ("", ""),
    "head": ("1", "font-weight:bold"),
    "gone": ("31", "background:#ffd7d533"),
    "came": ("32", "background:#d2fedb33"),
    "mark": ("1;33", "font-weight:bold;background:#ffe58f55"),
    "dim": ("2", "opacity:.6"),
}
# Characters that move a terminal's cursor, or worse, and may be in names.
_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code != 9}


@dataclass(frozen=True, slots=True)
class StyledLine:
    """A line and its kind: a key of `STYLES`."""

    text: str
    style: str = ""


class Shown:
    """Some lines. `str` gives them plain; a notebook shows them with colours."""

    def __init__(self, lines: Iterable[StyledLine | str] = ()) -> None:
        self.lines = tuple(part for line in lines for part in _parts(line))

    def __add__(self, other: Shown) -> Shown:
        """Both, one below the other."""
        return Shown([*self.lines, *other.lines])

    def __iter__(self) -> Iterator[StyledLine]:
        """The lines."""
        return iter(self.lines)

    def __str__(self) -> str:
        """Without colours."""
        return "\n".join(safe(line.text) for line in self.lines)

    def __repr__(self) -> str:
        """The same, for whoever works at Python's prompt."""
        return str(self)

    def ansi(self) -> str:
        """With the colours of a terminal."""
        return "\n".join(_coloured(line) for line in self.lines)

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """With colours, for a page; the text is escaped."""
        lines = "\n".join(
            f'<span style="{STYLES[line.style][1]}">{escape(safe(line.text))}</span>'
            for line in self.lines
        )
        return f'<pre style="line-height:1.35">{lines}</pre>'


def _parts(line: StyledLine | str) -> list[StyledLine]:
    return [StyledLine(text) for text in line.split("\n")] if isinstance(line, str) else [line]


def safe(text: str) -> str:
    """A text without characters that a terminal obeys."""
    return text.translate(_CONTROL)


def _coloured(line: StyledLine) -> str:
    code = STYLES[line.style][0]
    return f"\x1b[{code}m{safe(line.text)}\x1b[0m" if code and line.text else safe(line.text)


def folded(lines: list[StyledLine], keep: int = 2) -> list[StyledLine]:
    """Lines whose long unmarked runs are left out, but for some beside marked lines."""
    marked = [i for i, line in enumerate(lines) if line.style]
    near = {j for i in marked for j in range(i - keep, i + keep + 1)}
    shown: list[StyledLine] = []
    left_out: list[StyledLine] = []
    for i, line in enumerate(lines):
        if i in near:
            shown += [*_counted(left_out), line]
            left_out = []
        else:
            left_out.append(line)
    return shown + _counted(left_out)


def _counted(left_out: list[StyledLine]) -> list[StyledLine]:
    """The lines left out, as their number; a single one is shown, as it takes no more room."""
    if len(left_out) < 2:
        return left_out
    return [StyledLine(f"    ... {len(left_out)} more", "dim")]
