"""Positions in HLO text, and the one exception that points at them.

Everything that can go wrong with HLO, from a stray character to a collective that its partner
never joins, is an `HloError`: a stable code (`hlo explain HLO021` tells its story), one sentence,
the span of the text, and notes that say what to do about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from hlo.errors.user_line import IN_PROGRAM, user_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# A line of a 4 MB dump can be 100 KB long; an excerpt shows this many characters of it.
EXCERPT_WIDTH = 100
# Characters that a terminal would obey or could not show, and signs of one column for them.
_SHOWN_AS = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"},
    **dict.fromkeys([*range(0x7F, 0xA0), *range(0xDC80, 0xDD00)], 0xFFFD),
}


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """A text that is being read, and the name that errors call it by."""

    text: str
    name: str = "<string>"

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1."""
        line = self.text.count("\n", 0, offset) + 1
        return line, offset - (self.text.rfind("\n", 0, offset) + 1) + 1

    def line(self, offset: int) -> str:
        """The whole line around a character, without its line break."""
        end = self.text.find("\n", offset)
        begin = self.text.rfind("\n", 0, offset) + 1
        return self.text[begin : end if end >= 0 else len(self.text)].rstrip("\r")


@dataclass(frozen=True, eq=False, slots=True)
class Span:
    """A stretch of a source text: characters `start` to `end`, the last one excluded."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """The line on which the span starts, counted from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """The column at which the span starts, counted from 1."""
        return self.source.position(self.start)[1]

    @property
    def text(self) -> str:
        """The characters of the span."""
        return self.source.text[self.start : self.end]

    def part(self, start: int, end: int) -> Span:
        """A stretch inside this one, counted from its start."""
        return Span(self.source, self.start + start, self.start + end)

    def excerpt(self) -> tuple[str, str]:
        """Two lines: the source line, shortened around the span, and carets below the span."""
        line, column = self.source.line(self.start), self.column - 1
        begin = 0 if len(line) <= EXCERPT_WIDTH else max(0, column - EXCERPT_WIDTH // 2)
        shown = line[begin : begin + EXCERPT_WIDTH]
        # Tabs stay tabs below, so that the caret is under its character in any terminal.
        indent = "".join("\t" if c == "\t" else " " for c in line[begin:column])
        width = max(1, min(self.end - self.start, len(shown) - (column - begin)))
        return shown, indent + "^" * width


class HloError(Exception):
    """Something is wrong with an HLO text, module, argument or evaluation.

    Parameters
    ----------
    code : which `hlo explain` explains, such as "HLO021".
    message : one sentence, without the position.
    span : where in the text; None where no text was involved.
    notes : hints, one sentence each.
    """

    def __init__(
        self, code: str, message: str, span: Span | None = None, notes: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.notes = tuple(notes)

    def __reduce__(self) -> tuple[type[HloError], tuple[object, ...]]:
        """The constructor and its arguments, for pickle: processes of a pool send errors."""
        return type(self), (self.code, self.message, self.span, self.notes)

    def at(self, span: Span | None) -> HloError:
        """The same error with a position, if it had none."""
        return (
            self if self.span or not span else HloError(self.code, self.message, span, self.notes)
        )

    def noting(self, *notes: str) -> HloError:
        """The same error with more notes."""
        return HloError(self.code, self.message, self.span, (*self.notes, *notes))

    def __str__(self) -> str:
        """`file:line:column: error[CODE]: message`, the excerpt with carets, and the notes."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.span:
            number, column = self.span.source.position(self.span.start)
            lines[0] = f"{self.span.source.name}:{number}:{column}: {lines[0]}"
            shown, carets = self.span.excerpt()
            margin = f"{number:>4} | "
            lines += [margin + shown, " " * (len(margin) - 2) + "| " + carets]
        lines += [f"   = {note}" for note in (*self.notes, *self._user_line())]
        return "\n".join(lines).translate(_SHOWN_AS)

    def _user_line(self) -> tuple[str, ...]:
        """The note that names the line of the user's program, if it is known and not yet said."""
        if self.span is None or any(note.startswith(IN_PROGRAM) for note in self.notes):
            return ()
        source = self.span.source
        line = user_line(source.text, source.line(self.span.start))
        return (f"{IN_PROGRAM}{line}",) if line else ()


# Pairs of letters that are compared to find a word that was meant; more take seconds.
MOST_COMPARED = 1 << 22


def did_you_mean(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """A note that names the nearest known word, or no note where none is near.

    Words that differ in capitals only are the nearest: `Dot` is meant to be `dot`, `lt` `LT`.
    """
    left = MOST_COMPARED
    candidates: dict[str, str] = {}
    for candidate in known:
        left -= len(word) * len(candidate)
        if left < 0:
            break
        candidates.setdefault(candidate.lower(), candidate)
    near = get_close_matches(word.lower(), candidates, n=1, cutoff=0.6)
    return (f"did you mean `{candidates[near[0]]}`?",) if near else ()
