"""Finds where the pieces of an HLO text end: comments, strings, brackets, shapes, values.

Counting brackets is what no regular expression could do: literals and JSON nest to any depth.
Nothing here knows what a piece means; `hlo.read.lexer` makes tokens of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hlo.errors.error import HloError, Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

# How deep brackets may stand inside each other. Real HLO stays below 20; what nests is read and
# printed by functions that call themselves, and Python's stack is short.
MAX_NESTING = 100
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Anything up to the next comment: strings are skipped, for they may hold `//`.
_CODE = re.compile(r'(?:[^"/]++|"(?:[^"\\]++|\\.)*+"|/(?![/*]))*+', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")
_SPACE = re.compile(r"\s*", re.ASCII)
_LAYOUT = r"\{\s*(?:\d+(?:\s*,\s*\d+)*)?\s*(?::[^{}]*)?\}"
_ARRAY_SHAPE = re.compile(rf"[a-z]\w*\s*\[[^\]]*\](?:\s*{_LAYOUT})?|b(?=\()", re.ASCII)
_INSIDE = r"""[^(){}\[\]"']"""
_FLAT = re.compile(rf"\({_INSIDE}*+\)|\{{{_INSIDE}*+\}}|\[{_INSIDE}*+\]")
# Up to the next quote or bracket that is not the only one to its partner: shapes are skipped whole.
_SKIPPED = re.compile(rf"(?:{_INSIDE}++|{_FLAT.pattern})*+")
_STRING = {
    '"': re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL),
    "'": re.compile(r"'(?:[^'\\]++|\\.)*+'", re.DOTALL),
}
_PLAIN = re.compile(r"""[^\s,(){}\[\]"']+""", re.ASCII)
_BETWEEN_COMMAS = re.compile(r"""[^,(){}\[\]"']+""")
# What stands in `replica_groups=mesh["a"=2], device_ids=(1,0) {"a"}` between its parts.
_CONTINUES = re.compile(r"\s+(?=\{)|\s*,\s*(?=device_ids=)", re.ASCII)
_CLOSES = {")": "(", "}": "{", "]": "["}


class Piece(NamedTuple):
    """A stretch of the text, and where it starts."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends, the last character excluded."""
        return self.start + len(self.text)


class Item(NamedTuple):
    """A `key=value` of the text."""

    key: Piece
    value: Piece


def blank_comments(source: Source) -> str:
    """The text with every comment replaced by blanks, so that positions stay what they were."""
    text = source.text
    if "/*" not in text and "//" not in text:
        return text
    parts: list[str] = []
    at = 0
    while at < len(text):
        found = _CODE.match(text, at)
        assert found  # it matches the empty text too
        parts.append(found[0])
        at = found.end()
        if comment := _COMMENT.match(text, at):
            parts.append(_NOT_NEWLINE.sub(" ", comment[0]))
            at = comment.end()
        elif text.startswith("/*", at):
            raise HloError("HLO001", "the comment does not end", Span(source, at, at + 2))
        elif at < len(text):  # a quote that nothing closes
            parts.append(text[at])
            at += 1
    return "".join(parts)


class Scanner:
    """Finds where bracketed, quoted and comma-separated pieces of a text end.

    Parameters
    ----------
    source : the text that errors show.
    text : the same without comments, character by character.
    begin, end : the stretch of it that is read.
    """

    def __init__(self, source: Source, text: str, begin: int = 0, end: int | None = None) -> None:
        self.source = source
        self.text = text
        self.begin = begin
        self.end = len(text) if end is None else end

    def span(self, piece: Piece) -> Span:
        """Where a piece stands in the source."""
        return Span(self.source, piece.start, piece.start + len(piece.text))

    def piece(self, start: int, end: int) -> Piece:
        """The piece between two places."""
        return Piece(self.text[start:end], start)

    def error(self, message: str, start: int, end: int | None = None, *notes: str) -> HloError:
        """A syntax error at a place of the text."""
        return HloError("HLO001", message, Span(self.source, start, end or start + 1), notes)

    def string(self, pos: int) -> int:
        """The end of the quoted string that starts here."""
        found = _STRING[self.text[pos]].match(self.text, pos)
        if not found:
            raise self.error("the string does not end", pos)
        return found.end()

    def balanced(self, pos: int) -> int:
        """The end of the bracketed text that starts here."""
        flat = _FLAT.match(self.text, pos)
        if flat:
            return flat.end()
        opened = [pos]
        at = self._skip_flat(pos + 1)
        while at < len(self.text):
            mark, at = self.text[at], at + 1
            if mark in "\"'":
                at = self.string(at - 1)
            elif mark in "({[":
                opened.append(at - 1)
                if len(opened) > MAX_NESTING:
                    raise self.error(f"brackets are nested more than {MAX_NESTING} deep", at - 1)
            elif self.text[opened[-1]] != _CLOSES[mark]:
                message = f"`{mark}` can't close `{self.text[opened[-1]]}`"
                line = self.source.position(opened[-1])[0]
                raise self.error(message, at - 1, at, f"that was opened in line {line}")
            else:
                opened.pop()
                if not opened:
                    return at
            at = self._skip_flat(at)
        raise self.error(f"`{self.text[pos]}` is never closed", pos)

    def _skip_flat(self, pos: int) -> int:
        found = _SKIPPED.match(self.text, pos)
        assert found  # it matches the empty text too
        return found.end()

    def value(self, pos: int) -> int:
        """The end of an attribute's value: the next comma, blank or `}` outside of brackets."""
        text, at = self.text, pos
        while at < len(text):
            if plain := _PLAIN.match(text, at):
                at = plain.end()
            elif text[at] in "({[":
                at = self.balanced(at)
            elif text[at] in "\"'":
                at = self.string(at)
            elif text.startswith("mesh", pos) and (gap := _CONTINUES.match(text, at)):
                at = gap.end()
            else:
                break
        return at

    def shaped_literal(self, pos: int) -> int:
        """The end of a literal that has its shape in front: `s32[2] {1,2}`, `f32[] 0.1`."""
        end = self.shape(pos)
        if end is None:
            raise self.error("a literal begins with its shape", pos)
        return end if self.text[pos] == "(" else self.value(self.skip_space(end))

    def shape(self, pos: int) -> int | None:
        """The end of the shape that starts here, if one does."""
        if self.text.startswith("(", pos):
            return self.balanced(pos)
        found = _ARRAY_SHAPE.match(self.text, pos)
        if found and found[0] == "b":
            return self.balanced(found.end())
        return found.end() if found else None

    def skip_space(self, pos: int) -> int:
        """The next character that is not blank."""
        found = _SPACE.match(self.text, pos)
        assert found  # it matches the empty text too
        return found.end()

    def pieces(self, start: int, end: int) -> Iterator[Piece]:
        """The comma-separated pieces between two places, blanks around them trimmed."""
        at = begin = self.skip_space(start)
        after_comma = False
        while at < end:
            if self.text[at] in "({[":
                at = self.balanced(at)
            elif self.text[at] in "\"'":
                at = self.string(at)
            elif self.text[at] == ",":
                yield self._trimmed(begin, at)
                at = begin = self.skip_space(at + 1)
                after_comma = True
            elif between := _BETWEEN_COMMAS.match(self.text, at, end):
                at = between.end()
            else:
                raise self.error(f"`{self.text[at]}` closes nothing", at)
        if begin < end or after_comma:
            yield self._trimmed(begin, end)

    def _trimmed(self, start: int, end: int) -> Piece:
        return Piece(self.text[start:end].rstrip(), start)
