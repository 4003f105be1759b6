"""Cuts a module into syntax by regular expressions that skip whatever is in brackets.

A token a punctuation mark would be slow: a 4 MB dump has over a million of them, and Lark spends
about 3 us on each. So arguments and the values of attributes are found by their brackets, which are
counted, and lines by `LINE`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hlo.names import free_of_keywords
from hlo.read.fast.lines import NO_PLAIN_NAMES, Lines, match_lines, skip_space
from hlo.read.nesting import MAX_NESTING
from hlo.read.syntax import (
    ComputationSyntax,
    HeaderSyntax,
    InstructionSyntax,
    Item,
    ModuleSyntax,
    Piece,
    SignatureSyntax,
    TableSyntax,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME = r"%?([A-Za-z_][\w.\-]*)"
_HEADER = re.compile(rf"HloModule\s+{_NAME}:?", re.ASCII)
_HEADING = re.compile(r"(FileNames|FunctionNames|FileLocations|StackFrames)\b\s*", re.ASCII)
_ROW = re.compile(r'(\d+)[ \t]+("(?:[^"\\]++|\\.)*+"|\{[^{}"\']*\})\s*', re.ASCII)
_COMPUTATION = re.compile(rf"(ENTRY\s+)?{_NAME}\s*", re.ASCII)
_TARGET = re.compile(r"(ROOT\s+)?(%?)([A-Za-z_][\w.\-]*)\s*=\s*", re.ASCII)
_OPCODE = re.compile(rf"{_NAME}\s*(?=\()", re.ASCII)
_ATTRIBUTE = re.compile(r",\s*([A-Za-z_][\w\-]*)\s*=\s*", re.ASCII)
_ARROW = re.compile(r"->\s*")
_LAYOUT = r"\{\s*(?:\d+(?:\s*,\s*\d+)*)?\s*(?::[^{}]*)?\}"
_ARRAY_SHAPE = re.compile(rf"[a-z]\w*\s*\[[^\[\]{{}}()\"']*\](?:\s*{_LAYOUT})?", re.ASCII)
_INSIDE = r"""[^(){}\[\]"']"""
_FLAT = re.compile(rf"\({_INSIDE}*+\)|\{{{_INSIDE}*+\}}|\[{_INSIDE}*+\]")
# Up to the next quote or bracket that is not the only one to its partner: shapes are skipped whole.
_SKIPPED = re.compile(rf"(?>(?:{_INSIDE}++|{_FLAT.pattern}){{0,999}})")
_STRING = {
    '"': re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\]++|\\.)*+'", re.DOTALL),
}
# The value of an attribute that has no blanks outside of brackets.
_PLAIN = re.compile(r"""[^\s,(){}\[\]"'=]++(?!\s*=)""", re.ASCII)
# Device numbers in order, `[2,4]<=[8]T(1,0)`; axes of a mesh, `mesh["a"=2] {"a"}`.
_DEVICES = re.compile(
    r"\[[\d,]*\]<=\[[\d,]*\](?:T\([\d,]*\))?"
    r"|mesh\[[^\[\]{}()]*\](?:,\s*device_ids=\([^()]*\))?\s*\{[^{}]*\}",
    re.ASCII,
)
_CLOSES = {"(": ")", "{": "}", "[": "]"}


class UnusualError(Exception):
    """A text has another form than the usual one: the grammar reads it, or raises its error."""


class Cutter:
    """Goes through a text from its start to its end.

    Parameters
    ----------
    text : without comments.

    Raises
    ------
    UnusualError
        every method, where the text goes on in an unusual form.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = skip_space(text, 0)

    def module(self) -> ModuleSyntax:
        """The syntax of a text that begins with `HloModule`."""
        name = self._expect(_HEADER)
        header = HeaderSyntax(self._piece(*name.span(1)), self._attributes())
        tables: list[TableSyntax] = []
        while heading := _HEADING.match(self.text, self.pos):
            self.pos = heading.end()
            rows: list[tuple[Piece, Piece]] = []
            while row := _ROW.match(self.text, self.pos):
                self.pos = row.end()
                rows.append((self._piece(*row.span(1)), self._piece(*row.span(2))))
            tables.append(TableSyntax(self._piece(*heading.span(1)), rows))
        computations = [self._computation()]
        while self.pos < len(self.text):
            computations.append(self._computation())
        return ModuleSyntax(header, tables, computations)

    def _computation(self) -> ComputationSyntax:
        match = self._expect(_COMPUTATION)
        name = self._piece(*match.span(2))
        if name.text in NO_PLAIN_NAMES:
            raise UnusualError
        signature = None
        if self.text.startswith("(", self.pos):
            parameters = self._brackets()
            self._expect(_ARROW)
            signature = SignatureSyntax(parameters, self._shape())
        self._mark("{")
        body = self._body()
        return ComputationSyntax(match[1] is not None, name, signature, body, self._attributes())

    def _body(self) -> Sequence[Any]:
        body: list[Lines | InstructionSyntax] = []
        while True:
            lines, self.pos = match_lines(self.text, self.pos)
            if lines:
                body.append(lines)
            if self.text.startswith("}", self.pos):
                self._mark("}")
                return body
            body.append(self._instruction())

    def _instruction(self) -> InstructionSyntax:
        target = self._expect(_TARGET)
        name = target[3]
        if (not target[2] and name in NO_PLAIN_NAMES) or free_of_keywords(name) != name:
            raise UnusualError
        opcode = _OPCODE.match(self.text, self.pos)
        shape = None
        if opcode is None:
            shape = self._shape()
            opcode = self._expect(_OPCODE)
        self.pos = opcode.end()
        if opcode[1] in NO_PLAIN_NAMES or opcode[1] == "b":
            raise UnusualError
        code, arguments = self._piece(*opcode.span(1)), self._brackets()
        return InstructionSyntax(
            name, target[1] is not None, shape, code, arguments, self._attributes()
        )

    def _attributes(self) -> list[Item]:
        items: list[Item] = []
        while key := _ATTRIBUTE.match(self.text, self.pos):
            start = key.end()
            if plain := _DEVICES.match(self.text, start) or _PLAIN.match(self.text, start):
                end = plain.end()
            elif self.text[start : start + 1] in ("{", '"'):
                end = self._balanced(start) if self.text[start] == "{" else self._string(start)
            else:
                raise UnusualError
            self.pos = skip_space(self.text, end)
            if self.text[self.pos : self.pos + 1] in ("[", "(", "<"):
                raise UnusualError  # it was the start of a shape
            items.append(Item(self._piece(*key.span(1)), self._piece(start, end)))
        return items

    def _shape(self) -> Piece:
        """The shape that starts here."""
        start = self.pos
        if self.text.startswith("(", start):
            end = self._balanced(start)
        elif match := _ARRAY_SHAPE.match(self.text, start):
            end = match.end()
        else:
            raise UnusualError
        self.pos = skip_space(self.text, end)
        return self._piece(start, end)

    def _brackets(self) -> Piece:
        """The text in the brackets that open here."""
        start, end = self.pos, self._balanced(self.pos)
        self.pos = skip_space(self.text, end)
        return self._piece(start + 1, end - 1)

    def _mark(self, mark: str) -> None:
        if not self.text.startswith(mark, self.pos):
            raise UnusualError
        self.pos = skip_space(self.text, self.pos + 1)

    def _expect(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.pos)
        if not match:
            raise UnusualError
        self.pos = skip_space(self.text, match.end())
        return match

    def _piece(self, start: int, end: int) -> Piece:
        return Piece(self.text[start:end], start)

    def _string(self, pos: int) -> int:
        """The end of the quoted string that starts here."""
        match = _STRING[self.text[pos]].match(self.text, pos)
        if not match:
            raise UnusualError
        return match.end()

    def _balanced(self, pos: int) -> int:
        """The end of the bracketed text that starts here."""
        if flat := _FLAT.match(self.text, pos):
            return flat.end()
        closes = [_CLOSES[self.text[pos]]]
        at = self._skip_flat(pos + 1)
        while at < len(self.text):
            mark, at = self.text[at], at + 1
            if mark in "\"'":
                at = self._string(at - 1)
            elif mark in _CLOSES:
                closes.append(_CLOSES[mark])
                if len(closes) > MAX_NESTING:
                    raise UnusualError
            elif mark != closes.pop():
                raise UnusualError
            elif not closes:
                return at
            at = self._skip_flat(at)
        raise UnusualError

    def _skip_flat(self, pos: int) -> int:
        while match := _SKIPPED.match(self.text, pos):
            if match.end() == pos:
                break
            pos = match.end()
        return pos
