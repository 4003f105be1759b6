"""Syntax errors: Lark's `UnexpectedInput`, as an `HloError` that lists the expected tokens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from hlo.errors.error import HloError, Span

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

    from hlo.errors.error import Source
    from hlo.read.syntax import Piece

# Terminals in words, in the order in which they are listed.
_WORDS = {
    "INDEX": "an index",
    "HLOMODULE": "`HloModule`",
    "ENTRY": "`ENTRY`",
    "MODULE_NAME": "a name",
    "NAME": "a name",
    "TARGET": "an instruction, `%name = shape opcode(...)`",
    "PARAMETER": "`name: shape`",
    "KEY": "`key=value`",
    "EQUAL": "`=`",
    "ATOM": "a word or number",
    "WORD": "a word",
    "PATH": "a key",
    "INT": "an integer",
    "FLOAT": "a number",
    "BY": "numbers such as `2x3`",
    "LABELS": "labels such as `b01f_01io->b01f`",
    "STRING": "a string",
    "COMMA": "`,`",
    "COLON": "`:`",
    "LPAR": "`(`",
    "LSQB": "`[`",
    "LBRACE": "`{`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "RBRACE": "`}`",
    "__ANON_0": "`->`",
    "$END": "the end",
}
_OPENS = {"LPAR", "LBRACE", "LSQB", "_LAYOUT"}
_CLOSES = {"RPAR", "RBRACE", "RSQB"}
_PARTNERS = {"(": ")", "{": "}", "[": "]"}
# Where a name or a shape may begin the next part of a list.
_PARTS = {
    "operands": "an operand",
    "called": "a computation",
    "names": "a name",
    "parameters": "`name: shape`",
}
_WORD = re.compile(r"%?[\w.\-]+|.", re.DOTALL)
# The name at the start of an instruction, and what no name may have in it.
_TARGET = re.compile(r"(?:ROOT\s+)?%?([^\s=(){}\[\],]+)(?:\s*=|(?<=:)\s)")
_NOT_IN_NAMES = re.compile("[^\\w.\\-\ufeff]", re.ASCII)  # of a byte order mark there is a hint


def syntax_error(error: UnexpectedInput, rule: str, source: Source, piece: Piece) -> HloError:
    """The error that Lark finds in a piece of a text.

    Parameters
    ----------
    rule : by which the piece was read.

    Returns
    -------
    HloError
        HLO001, with the line of the innermost bracket that is open.
    """
    expected = expected_terminals(error)
    message = expects(expected, rule) or "unexpected text"
    opened = _innermost_bracket(error)
    notes: tuple[str, ...] = ()
    if opened is not None:
        line = source.position(piece.start + (opened.start_pos or 0))[0]
        notes = (f"`{opened}` was opened in line {line}",)
    found_at: Any = getattr(error, "pos_in_stream", None)
    token: Token | None = getattr(error, "token", None)
    if found_at is None or found_at < 0 or (token is not None and token.type == "$END"):
        if rule == "text":
            end = max(1, len(piece.text.rstrip()))
            message = f"the text ends too early: {message}"
            return HloError("HLO001", message, Span(source, end - 1, end), notes)
        return HloError("HLO001", message, Span(source, piece.end, piece.end + 1), notes)
    at: int = found_at
    match = _WORD.match(piece.text, at)
    word = match[0] if match else " "
    if "TARGET" in expected and (odd := _odd_character(piece.text, at)):
        message = f"`{odd[0]}` can't be part of a name"
        notes = ("names are made of ASCII letters, digits, `_`, `.` and `-`",)
        at, word = odd.start(), odd[0]
    elif opened is None and word in _PARTNERS.values():
        message = f"`{word}` closes no bracket"
    elif opened is not None and word in _PARTNERS.values() and word != _PARTNERS[opened]:
        message = f"`{word}` can't close `{opened}`"
    elif not expected & _CLOSES:
        notes = ()
    span = Span(source, piece.start + at, piece.start + at + len(word))
    return HloError("HLO001", message, span, notes)


def _odd_character(text: str, at: int) -> re.Match[str] | None:
    """The first character in the name of an instruction that can't be there."""
    named = _TARGET.match(text, at)
    return _NOT_IN_NAMES.search(text, *named.span(1)) if named else None


def expected_terminals(error: UnexpectedInput) -> set[str]:
    """The terminals with which the text could have gone on."""
    if isinstance(error, UnexpectedToken):
        return set(error.expected)
    return set(error.allowed or ()) if isinstance(error, UnexpectedCharacters) else set()


def expects(expected: set[str], rule: str) -> str:
    """`expects a name or a shape`, of terminals; "" where none has a word."""
    if rule in _PARTS and expected & {"NAME", "PARAMETER"}:
        return f"expects {_PARTS[rule]}"
    wanted = dict.fromkeys(words for name, words in _WORDS.items() if name in expected)
    return f"expects {' or '.join(wanted)}" if wanted else ""


def _innermost_bracket(error: UnexpectedInput) -> Token | None:
    """The bracket that was opened last and not closed before the error."""
    state: Any = getattr(error, "state", None)
    stack: Any = getattr(state, "value_stack", None)
    if stack is None and (parser := getattr(error, "interactive_parser", None)):
        stack = parser.parser_state.value_stack
    parts: list[Any] = list(stack or ())
    opened: list[Token] = []
    for part in parts:
        if isinstance(part, Token) and part.type in _OPENS:
            opened.append(part)
        elif isinstance(part, Token) and part.type in _CLOSES:
            opened.pop()
    return opened[-1] if opened else None
