"""The lines of a rule, a function or a pass: the statement or expression that begins at a line."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.log import SourceLine

# The packages' folder, below which paths are shown.
ROOT = Path(__file__).parents[2]
# Of a pass, only the lines around the line that proposes a rewrite are shown.
AROUND = 6
# Letters of a line of the user's program that are kept.
LONGEST_LINE = 160
_WHOLE = ast.Call | ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class SourceText:
    """Some lines of a Python file.

    Attributes
    ----------
    file : below the folder of the packages, or as it was given.
    first : the number of the first line, from 1.
    marked : the number of the requested line.
    """

    file: str
    first: int
    marked: int
    lines: tuple[str, ...]

    def __str__(self) -> str:
        """Numbered lines under the name of the file."""
        width = len(str(self.first + len(self.lines)))
        numbered = (
            f"{'->' if n == self.marked else '  '} {n:>{width}} | {line}".rstrip()
            for n, line in enumerate(self.lines, self.first)
        )
        return "\n".join([f"{self.file}:{self.marked}", *numbered])


def shown_path(file: str) -> str:
    """A file's path as people read it: below the packages' folder, or else as it is."""
    path = Path(file)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else file


@lru_cache(maxsize=1 << 12)
def source_of(location: SourceLine, *, whole: bool) -> SourceText | None:
    """The source at a line; None if its file cannot be read.

    Parameters
    ----------
    whole : the line begins a rule or a function, of which all lines are wanted; or else it is a
        line in the middle of a function.
    """
    lines = _lines(location.file)
    if not 0 < location.line <= len(lines):
        return None
    first, last = location.line, location.line
    if whole:
        last = _ends(location.file).get(location.line, location.line)
    else:
        first, last = max(1, first - AROUND), min(len(lines), last + 2)
    shown = lines[first - 1 : last]
    indent = min((len(line) - len(line.lstrip()) for line in shown if line.strip()), default=0)
    dedented = tuple(line[indent:] for line in shown)
    return SourceText(shown_path(location.file), first, location.line, dedented)


@lru_cache(maxsize=256)
def _lines(file: str) -> tuple[str, ...]:
    try:
        return tuple(Path(file).read_text("utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return ()


@lru_cache(maxsize=256)
def _ends(file: str) -> dict[int, int]:
    """The last line of the longest call or definition that begins on each line."""
    ends: dict[int, int] = {}
    try:
        tree = ast.parse("\n".join(_lines(file)))
    except SyntaxError:
        return ends
    for node in ast.walk(tree):
        if not isinstance(node, _WHOLE):
            continue
        decorators = [] if isinstance(node, ast.Call) else node.decorator_list
        start = min([node.lineno, *(d.lineno for d in decorators)])
        end = node.end_lineno or start
        ends[start] = max(end, ends.get(start, 0))
    return ends


def user_line(place: str) -> tuple[str, ...]:
    """The line of the user's program at `file:line`; empty where it cannot be read here.

    A module may name any file, so that only files of Python are read.
    """
    file, _, number = place.rpartition(":")
    if not file.endswith(".py") or not number.isdigit():
        return ()
    line = linecache.getline(file, int(number)).strip()
    return (line[:LONGEST_LINE],) if line else ()
