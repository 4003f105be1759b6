"""The text of an emitted file, and what each of its lines is about.

Compilers and checks name lines. What a line is about is recorded while the file is put together, so
that nobody reads the text again.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Self

from codegen.elements.names import comment, commented
from codegen.printer import lines
from codegen.statements import For, Let, LocalVariable, own_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from codegen.statements import Statement


_NO_NAMES: Mapping[str, str] = MappingProxyType({})


class HloLine(NamedTuple):
    """An instruction of HLO, by its name and as text."""

    name: str
    text: str


def comment_of(about: Iterable[HloLine]) -> str:
    """The comment above the code that computes some instructions."""
    return comment("\n".join(line.text for line in about))


class Section(NamedTuple):
    """A part of a file: a function with the lines above it, or what is between functions.

    Attributes
    ----------
    text : whole lines.
    function : the name of the function; empty for what is in none.
    about : the HLO that it computes.
    statements : the function's statements, where their lines are known.
    first : the line of the first statement, counted from 1.
    hlo_names : the HLO name that each of its identifiers stands for.
    """

    text: str
    function: str = ""
    about: tuple[HloLine, ...] = ()
    statements: Sequence[Statement] = ()
    first: int = 0
    hlo_names: Mapping[str, str] = _NO_NAMES

    def instruction(self, line: int) -> str:
        """The instruction whose value a line computes; of a line that names none, the last one."""
        texts = {computed.name: commented(computed.text) for computed in self.about}
        numbered = enumerate(lines(self.statements), self.first)
        on_line = next((statement for number, (_, statement) in numbered if number == line), None)
        names = map(self.hlo_names.get, _names(on_line)) if on_line else ()
        return next((texts[n] for n in names if n in texts), next(reversed(texts.values()), ""))


def _names(statement: Statement) -> Iterator[str]:
    """The names in a statement, but for those in the statements inside of it."""
    if isinstance(statement, Let | LocalVariable | For):
        yield statement.name
    yield from own_names(statement)


class FileText(str):
    """A text that knows its sections."""

    sections: tuple[Section, ...]

    def __new__(cls, sections: Iterable[Section]) -> Self:
        """The text of some sections, one after the other."""
        listed = tuple(sections)
        text = super().__new__(cls, "".join([section.text for section in listed]))
        text.sections = listed
        return text

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """A copy or a pickle is a plain `str`, without sections."""
        return str, (str(self),)


def section_at(text: str, line: int) -> tuple[Section, int]:
    """The section of a line, counted from 1, and the number of the line in that section.

    A text that knows no sections is one.
    """
    sections = text.sections if isinstance(text, FileText) else (Section(text),)
    for section in sections:
        count = section.text.count("\n")
        if line <= count:
            return section, line
        line -= count
    return Section(""), 1


@dataclass(frozen=True, slots=True)
class EmittedLine:
    """A line of emitted code.

    Attributes
    ----------
    function : that it is in; empty outside of all.
    about : the HLO that the function computes, a line an instruction.
    """

    line: int
    text: str
    function: str
    about: tuple[str, ...]

    def __str__(self) -> str:
        """The line, its number and its function."""
        return f"line {self.line}, in {self.function or 'the prelude'}: {self.text}"


def line_at(text: str, line: int) -> EmittedLine:
    """A line of a file, counted from 1, and the function that it is in."""
    rows = text.split("\n")
    number = min(max(line, 1), len(rows))
    section, _ = section_at(text, number)
    about = tuple(commented(each.text) for each in section.about)
    return EmittedLine(number, rows[number - 1].strip(), section.function, about)
