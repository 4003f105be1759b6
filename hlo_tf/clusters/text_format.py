"""The text form of protocol buffers, such as a `.pbtxt` of TensorFlow, without their schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Iterator

# A field of a message, by its name; a field that is there several times has several values.
Message = dict[str, list[Any]]
_TOKEN = re.compile(r'\s+|#[^\n]*|(?P<token>"(?:[^"\\]|\\.)*"|[\w.+-]+|[{}:<>\[\],;])')


def parse(text: str) -> Message:
    """The fields of a message: numbers and names as they are written, strings without quotes.

    Raises
    ------
    HloError
        HLO201 if the text is no message.
    """
    return _fields(_tokens(text), None)


def _tokens(text: str) -> Iterator[str]:
    end = 0
    while end < len(text):
        found = _TOKEN.match(text, end)
        if found is None:
            line = text.count("\n", 0, end) + 1
            raise HloError(
                "HLO201", f"line {line} is no text of a message: {text[end : end + 20]!r}"
            )
        end = found.end()
        if found["token"]:
            yield found["token"]


def _fields(tokens: Iterator[str], closing: str | None) -> Message:
    made: Message = {}
    for name in tokens:
        if name == closing:
            return made
        sign = next(tokens, "")
        if sign == ":":
            value = next(tokens, "")
            if value == "{":
                made.setdefault(name, []).append(_fields(tokens, "}"))
            elif value.startswith('"'):
                made.setdefault(name, []).append(value[1:-1])
            else:
                made.setdefault(name, []).append(value)
        elif sign == "{":
            made.setdefault(name, []).append(_fields(tokens, "}"))
        else:
            raise HloError("HLO201", f"a message has `{name}` without a value")
    if closing is not None:
        raise HloError("HLO201", "a message ends inside of another")
    return made
