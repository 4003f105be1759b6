"""Cuts HLO text into coarse tokens for the grammar in `hlo.lark`.

A token a punctuation mark would be slow: a 4 MB dump has over a million of them, and Lark spends
about 3 us on each. So whatever stands between brackets is one token (`ARGUMENTS`, `SHAPE`, the
value of an `ATTRIBUTE`), and is looked into later, once for each distinct text. And instructions
that stand on a line each, in the form in which XLA prints them, are one token together (`LINES`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from lark import Token
from lark.lexer import Lexer

from hlo.names import KEYWORDS, TYPE_NAMES, free_of_keywords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from hlo.read.scanner import Scanner

NAME = r"%?[A-Za-z_][\w.\-]*"
QUOTED = r'"(?:[^"\\]++|\\.)*+"'
_LHS = re.compile(rf"(?:ROOT\s+)?({NAME})\s*=\s*", re.ASCII)
_NAME = re.compile(NAME, re.ASCII)
_ATTRIBUTE = re.compile(r",\s*([A-Za-z_][\w\-]*)\s*=\s*", re.ASCII)
_TABLE = re.compile(r"(?:FileNames|FunctionNames|FileLocations|StackFrames)\b\s*", re.ASCII)
_TABLE_ROW = re.compile(rf"\s*\d+[ \t]+(?:{QUOTED}|\{{[^{{}}]*\}})", re.ASCII)

# The usual keys of metadata in the order in which XLA prints them, with values as it prints them:
# nothing that is empty or 0, every byte that is no printable character escaped.
_TEXT = (
    r'"(?:[ !#-&(-\[\]-~]++|\\(?:[nrt"\'\\]|00[0-7]|01[0134567]|0[23][0-7]|177|[23][0-7]{2}))++"'
)
_COUNT = r"[1-9]\d{0,8}"
METADATA = (
    rf"(?=op_|source_file|stack_)(?:op_type={_TEXT} ?)?(?:op_name={_TEXT} ?)?"
    rf"(?:source_file={_TEXT} ?)?(?:source_line={_COUNT} ?)?(?:source_end_line={_COUNT} ?)?"
    rf"(?:source_column={_COUNT} ?)?(?:source_end_column={_COUNT} ?)?"
    rf"(?:stack_frame_id={_COUNT})?(?<! )"
)
_BRACES = rf"\{{(?:[^{{}}\"']++|{QUOTED})*+\}}"
_NESTED = rf"\{{(?:[^{{}}\"']++|{QUOTED}|{_BRACES})*+\}}"
_VALUE = rf"(?:[^\s,(){{}}\[\]\"']++|{_NESTED}|{QUOTED}|\[[^\[\]{{}}\"']*+\])++"
_OTHERS = rf"((?:, (?!metadata=)[\w\-]+={_VALUE})*+)"
_SHAPE = r"[a-z]\w*\[[^\]]*\](?:\{[^{}]*\})?|\([^()]*\)"
# An instruction in the form in which XLA prints it, on one line: nothing nests deep in it. Groups:
# ROOT, name, shape, opcode, arguments, attributes, metadata, more attributes.
LINE = re.compile(
    rf"(ROOT )?%?((?!__)[A-Za-z_][\w.\-]*) = ({_SHAPE}) ([a-z][\w\-]*)"
    rf"\(((?:[^(){{}}\"']++|\{{[^{{}}()]*\}})*+)\)"
    rf"{_OTHERS}(?:, metadata=\{{({METADATA})\}})?{_OTHERS}(?=\n)",
    re.ASCII,
)
LINE_ATTRIBUTE = re.compile(rf", ([\w\-]+)=({_VALUE})", re.ASCII)
TYPED_OPERAND = re.compile(rf"\s*({_SHAPE}) %?([A-Za-z_][\w.\-]*)\s*(?:,|$)", re.ASCII)
_NO_PLAIN_NAMES = KEYWORDS | TYPE_NAMES
_KEYWORDS = {"HloModule": "HLO_MODULE", "ENTRY": "ENTRY"}
_MARKS = {"{": "LBRACE", "}": "RBRACE"}


class LinesToken(Token):
    """Some `LINES`, with a match of the pattern `LINE` for each."""

    matches: list[re.Match[str]]

    @classmethod
    def of(cls, matches: list[re.Match[str]]) -> LinesToken:
        """The token that matches make; its own text is that of the first."""
        first = matches[0]
        token: Any = cls("LINES", first[0], first.start(), end_pos=first.end())
        token.matches = matches
        return token


class HloLexer(Lexer):
    """The lexer that Lark drives: `lex` yields the tokens that `hlo.lark` declares.

    The text must be free of comments (`hlo.read.scanner.blank_comments`).
    """

    # Tokens after which a `(` opens a tuple shape rather than operands.
    SHAPE_FOLLOWS: ClassVar = {"LHS", "ARROW", ""}
    LINES_FOLLOW: ClassVar = {"LBRACE", "ATTRIBUTE", "ARGUMENTS"}

    def __init__(self, lexer_conf: Any) -> None:
        self.conf = lexer_conf

    def lex(self, scanner: Scanner) -> Iterator[Token]:  # type: ignore[override]
        """Yield the tokens of a text."""
        text = scanner.text
        pos = scanner.skip_space(scanner.begin)
        before = ""
        while pos < scanner.end:
            if before in self.LINES_FOLLOW and (lines := _lines(scanner, pos)):
                yield LinesToken.of(lines)
                before, end = "LINES", lines[-1].end()
            else:
                before, start, end = self._next(scanner, pos, before)
                yield Token(before, text[start:end], start, end_pos=end)
            pos = scanner.skip_space(end)

    def _next(self, scanner: Scanner, pos: int, before: str) -> tuple[str, int, int]:
        """Kind, start and end of the token at a place."""
        text = scanner.text
        head = text[pos]
        if head == ",":
            return _attribute(scanner, pos)
        if before in self.SHAPE_FOLLOWS and (end := scanner.shape(pos)):
            return "SHAPE", pos, end
        if head == "(":
            return "ARGUMENTS", pos, scanner.balanced(pos)
        if head in _MARKS:
            return _MARKS[head], pos, pos + 1
        if text.startswith("->", pos):
            return "ARROW", pos, pos + 2
        return _word(scanner, pos, before)


def _lines(scanner: Scanner, pos: int) -> list[re.Match[str]]:
    """The plain instructions that follow each other from here on."""
    found: list[re.Match[str]] = []
    while line := LINE.match(scanner.text, pos):
        if line[2] in _NO_PLAIN_NAMES:
            break
        found.append(line)
        pos = scanner.skip_space(line.end())
    return found


def _attribute(scanner: Scanner, pos: int) -> tuple[str, int, int]:
    found = _ATTRIBUTE.match(scanner.text, pos)
    if not found:
        raise scanner.error("expects `key=value` after `,`", pos)
    end_of = scanner.shaped_literal if found[1] == "literal" else scanner.value
    return "ATTRIBUTE", found.start(1), end_of(found.end())


def _word(scanner: Scanner, pos: int, before: str) -> tuple[str, int, int]:
    text = scanner.text
    if found := _LHS.match(text, pos):
        _check_name(scanner, found[1], found.start(1))
        bare = found[1].lstrip("%")
        if (other := free_of_keywords(bare)) != bare:
            message = f"`{bare}` is no name for an instruction"
            raise scanner.error(message, *found.span(1), f"call it `{other}`")
        return "LHS", pos, found.end()
    if found := _TABLE.match(text, pos):
        end = found.end()
        while row := _TABLE_ROW.match(text, end):
            end = row.end()
        return "TABLE", pos, end
    if found := _NAME.match(text, pos):
        if found[0] not in _KEYWORDS:
            _check_name(scanner, found[0], pos)
        # XLA lets a colon end the module's name.
        colon = before == "HLO_MODULE" and text.startswith(":", found.end())
        return _KEYWORDS.get(found[0], "NAME"), pos, found.end() + colon
    raise scanner.error(f"unexpected character {text[pos]!r}", pos)


def _check_name(scanner: Scanner, name: str, pos: int) -> None:
    if name in _NO_PLAIN_NAMES:
        message = f"`{name}` means something by itself, and is no name"
        raise scanner.error(message, pos, pos + len(name), f"as a name it is written `%{name}`")
