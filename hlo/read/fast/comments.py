"""Replaces comments by blanks."""

from __future__ import annotations

import re

from hlo.read.by_grammar import NOT_NEWLINE
from hlo.read.fast.cut import UnusualError
from hlo.read.quoting import QUOTED

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Anything up to the next comment: strings are skipped, for they may hold `//`.
_CODE = re.compile(rf'(?>(?:[^"/]++|{QUOTED}|/(?![/*])){{0,999}})', re.DOTALL)


def blank_comments(text: str) -> str:
    """The text with every comment replaced by blanks, so that positions do not change.

    Raises
    ------
    UnusualError
        if a comment or a string is never closed.
    """
    if "/*" not in text and "//" not in text:
        return text
    parts: list[str] = []
    at = 0
    while at < len(text):
        code = _CODE.match(text, at)
        assert code  # it matches the empty text too
        parts.append(code[0])
        if code.end() > at:
            at = code.end()
        else:
            comment = _COMMENT.match(text, at)
            if comment is None:
                raise UnusualError
            parts.append(NOT_NEWLINE.sub(" ", comment[0]))
            at = comment.end()
    return "".join(parts)
