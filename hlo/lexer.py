"""Cuts HLO text into coarse tokens for the grammar in `hlo.lark`.

A token a punctuation mark would be slow: a 4 MB dump has over a million of them, and Lark spends
about 3 us on each. So whatever stands between brackets is one token (`ARGUMENTS`, `SHAPE`, the
value of an `ATTRIBUTE`), found by counting brackets, and is looked into later, once for each
distinct text. Counting is also what no regular expression could do: literals and JSON nest to any
depth.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from lark import Token
from lark.lexer import Lexer

from hlo.error import HloError, Source, Span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAME = r"%?[A-Za-z_][\w.\-]*"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Anything up to the next comment: strings are skipped, for they may hold `//`.
_CODE = re.compile(r'(?:[^"/]++|"(?:[^"\\]++|\\.)*+"|/(?![/*]))*+', re.DOTALL)
_NOT_NEWLINE = re.compile(r"[^\n]")
_SPACE = re.compile(r"\s*")
_LHS = re.compile(rf"(?:ROOT\s+)?{NAME}\s*=\s*")
_NAME = re.compile(NAME)
_ATTRIBUTE = re.compile(r",\s*([A-Za-z_][\w\-]*)\s*=\s*")
_LAYOUT = r"\{\s*(?:\d+(?:\s*,\s*\d+)*)?\s*(?::[^{}]*)?\}"
_ARRAY_SHAPE = re.compile(rf"[a-z]\w*\s*\[[^\]]*\](?:\s*{_LAYOUT})?|b(?=\()")
_FLAT = re.compile(r"""\([^(){}\[\]"']*\)|\{[^(){}\[\]"']*\}|\[[^(){}\[\]"']*\]""")
_BRACKET = re.compile(r"""["'(){}\[\]]""")
_STRING = {'"': re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL), "'": re.compile(r"'(?:\\.|[^'\\])*'")}
_PLAIN = re.compile(r"""[^\s,(){}\[\]"']+""")
_CONTINUES = re.compile(r"\s+(?=\{)")
_TABLE = re.compile(r"(FileNames|FunctionNames|FileLocations|StackFrames)\b\s*")
_TABLE_ROW = re.compile(r'\s*(\d+)[ \t]+("(?:\\.|[^"\\])*"|\{[^{}]*\})')
QUOTED = r'"(?:[^"\\]++|\\.)*+"'
_BRACES = rf"\{{(?:[^{{}}\"']++|{QUOTED})*+\}}"
_NESTED = rf"\{{(?:[^{{}}\"']++|{QUOTED}|{_BRACES})*+\}}"
_VALUE = rf"(?:[^\s,(){{}}\[\]\"']++|{_NESTED}|{QUOTED}|\[[^\[\]{{}}\"']*+\])++"
ATTRIBUTE_ITEM = re.compile(rf", ([\w\-]+)=({_VALUE})")
_OTHERS = rf"((?:, (?!metadata=)[\w\-]+={_VALUE})*+)"
# The usual keys of metadata in the order in which XLA prints them, strings escaped as it does.
_TEXT = r'"(?:[^"\\\']++|\\.)*+"'
METADATA = (
    rf"(?:op_type={_TEXT} ?)?(?:op_name={_TEXT} ?)?(?:source_file={_TEXT} ?)?"
    r"(?:source_line=\d+ ?)?(?:source_end_line=\d+ ?)?(?:source_column=\d+ ?)?"
    r"(?:source_end_column=\d+ ?)?(?:stack_frame_id=\d+)?(?<! )"
)
_SIMPLE_SHAPE = r"[a-z]\w*\[[^\]]*\](?:\{[^{}]*\})?|\([^()]*\)"
# An instruction in the form in which XLA prints it, on one line: nothing nests deep in it.
LINE = re.compile(
    rf"(ROOT )?%?([A-Za-z_][\w.\-]*) = ({_SIMPLE_SHAPE}) ([a-z][\w\-]*)"
    rf"\(((?:[^(){{}}\"']++|\{{[^{{}}()]*\}})*+)\)"
    rf"{_OTHERS}(?:, metadata=\{{({METADATA})\}})?{_OTHERS}(?=\n)"
)
TYPED_OPERAND = re.compile(rf"\s*({_SIMPLE_SHAPE}) %?([A-Za-z_][\w.\-]*)\s*(?:,|$)")
_CLOSES = {")": "(", "}": "{", "]": "["}
_KEYWORDS = {"HloModule": "HLO_MODULE", "ENTRY": "ENTRY"}


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


class LineToken(Token):
    """A `LINE`, with the match of the pattern that found it."""

    match: re.Match[str]


class Scanner:
    """Finds where bracketed, quoted and comma-separated pieces of a text end."""

    def __init__(self, source: Source, text: str, begin: int = 0, end: int | None = None) -> None:
        self.source = source
        self.text = text
        self.begin = begin
        self.end = len(text) if end is None else end

    def error(self, message: str, start: int, end: int | None = None, *notes: str) -> HloError:
        """A syntax error at a place of the text."""
        return HloError("HLO001", message, Span(self.source, start, end or start + 1), notes)

    def string(self, pos: int) -> int:
        """The end of the quoted string that starts here."""
        found = _STRING[self.text[pos]].match(self.text, pos)
        if not found:
            raise self.error("string does not end", pos)
        return found.end()

    def balanced(self, pos: int) -> int:
        """The end of the bracketed text that starts here."""
        flat = _FLAT.match(self.text, pos)
        if flat:
            return flat.end()
        opened: list[int] = []
        at = pos
        while found := _BRACKET.search(self.text, at):
            mark, at = found[0], found.end()
            if mark in "\"'":
                at = self.string(found.start())
            elif mark in "({[":
                opened.append(found.start())
            elif not opened or self.text[opened[-1]] != _CLOSES[mark]:
                raise self.error(f"`{mark}` closes nothing", found.start())
            else:
                opened.pop()
                if not opened:
                    return at
        raise self.error(f"`{self.text[pos]}` is never closed", pos)

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
                at = gap.end()  # `replica_groups=mesh["a"=2] {"a"}`
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
        if self.text[pos] == "(":
            return self.balanced(pos)
        found = _ARRAY_SHAPE.match(self.text, pos)
        if found and found[0] == "b":
            return self.balanced(found.end())
        return found.end() if found else None

    def skip_space(self, pos: int) -> int:
        """The next character that is not blank."""
        return _SPACE.match(self.text, pos).end()  # type: ignore[union-attr]

    def pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The comma-separated pieces between two places, blanks around them trimmed."""
        at = begin = self.skip_space(start)
        while at < end:
            if self.text[at] in "({[":
                at = self.balanced(at)
            elif self.text[at] in "\"'":
                at = self.string(at)
            elif self.text[at] == ",":
                yield begin, self._trim(begin, at)
                at = begin = self.skip_space(at + 1)
            else:
                at += 1
        if begin < end or begin > start:
            yield begin, self._trim(begin, end)

    def _trim(self, start: int, end: int) -> int:
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return end


class HloLexer(Lexer):
    """The lexer that Lark drives: `lex` yields the tokens that `hlo.lark` declares.

    The text must be free of comments (`blank_comments`).
    """

    # Tokens after which a `(` opens a tuple shape rather than operands.
    SHAPE_FOLLOWS: ClassVar = {"LHS", "ARROW", ""}
    LINE_FOLLOWS: ClassVar = {"LBRACE", "LINE", "ATTRIBUTE", "ARGUMENTS"}

    def __init__(self, lexer_conf: Any) -> None:
        self.conf = lexer_conf

    def lex(self, scanner: Scanner) -> Iterator[Token]:
        """Yield the tokens of a text."""
        text = scanner.text
        pos = scanner.skip_space(scanner.begin)
        before = ""
        while pos < scanner.end:
            if before in self.LINE_FOLLOWS and (line := LINE.match(text, pos)):
                end = line.end()
                token = LineToken("LINE", line[0], pos, end_pos=end)
                token.match = line
                yield token
                pos = scanner.skip_space(end)
                before = "LINE"
                continue
            kind, start, end = self._next(scanner, pos, before)
            yield Token(kind, text[start:end], start, end_pos=end)
            pos = scanner.skip_space(end)
            before = kind

    def _next(self, scanner: Scanner, pos: int, before: str) -> tuple[str, int, int]:
        """Kind, start and end of the token at a place."""
        text = scanner.text
        head = text[pos]
        if head == ",":
            found = _ATTRIBUTE.match(text, pos)
            if not found:
                raise scanner.error("expects `key=value` after `,`", pos)
            end_of = scanner.shaped_literal if found[1] == "literal" else scanner.value
            return "ATTRIBUTE", found.start(1), end_of(found.end())
        if before in self.SHAPE_FOLLOWS and (end := scanner.shape(pos)):
            return "SHAPE", pos, end
        if head == "(":
            return "ARGUMENTS", pos, scanner.balanced(pos)
        if found := _LHS.match(text, pos):
            return "LHS", pos, found.end()
        if head in "{}":
            return ("LBRACE" if head == "{" else "RBRACE"), pos, pos + 1
        if text.startswith("->", pos):
            return "ARROW", pos, pos + 2
        if found := _TABLE.match(text, pos):
            end = found.end()
            while row := _TABLE_ROW.match(text, end):
                end = row.end()
            return "TABLE", pos, end
        if found := _NAME.match(text, pos):
            # XLA lets a colon end the module's name.
            colon = before == "HLO_MODULE" and text.startswith(":", found.end())
            return _KEYWORDS.get(found[0], "NAME"), pos, found.end() + colon
        raise scanner.error(f"unexpected character {head!r}", pos)
