"""Strings in quotes, and the JSON that XLA writes in their place.

XLA's strings are bytes. Those that are no UTF-8 are kept as Python keeps them in file names: as
lone surrogates, which `quote` turns back into the same bytes.
"""

from __future__ import annotations

import re

from hlo.read.nesting import MAX_NESTING

# In Python before 3.11.5, a possessive repetition of a group may end after the point where its
# last try failed. Here that does no harm: a string that is never closed does not match, either way.
# Where it would, `(?>(?:...)*)` is used; it takes memory for each iteration, so that these are
# bounded.
QUOTED = r'"(?:[^"\\]++|\\.)*+"'
_SINGLE = QUOTED.replace('"', "'")
# Strings; brackets outside of them, and quotes that no other closes.
_MARKS = re.compile(rf"""{QUOTED}|{_SINGLE}|([(){{}}\[\]"'])""", re.DOTALL)
_CLOSES = {"(": ")", "{": "}", "[": "]"}
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = dict(zip([b"a", b"b", b"f", b"n", b"r", b"t", b"v"], b"\a\b\f\n\r\t\v", strict=True))
_ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "'": "\\'"}


def unquote(text: str) -> str:
    """The characters that a quoted string stands for."""
    body = text[1:-1]
    if "\\" not in body:
        return body
    data = _ESCAPE.sub(_unescape, body.encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code.isdigit():
        return bytes([int(code, 8) % 256])
    return bytes([_ESCAPES[code]]) if code in _ESCAPES else code


def quote(text: str) -> str:
    """A string in double quotes, escaped as C does."""
    parts: list[str] = []
    for byte in text.encode("utf-8", "surrogateescape"):
        char = chr(byte)
        if char in _ESCAPED:
            parts.append(_ESCAPED[char])
        else:
            parts.append(char if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'


def keep_json(text: str) -> str:
    """A string or JSON dictionary as XLA writes it: a string that is a dictionary has no quotes."""
    if text[0] not in "\"'":
        return text
    content = unquote(text)
    return content if _is_dictionary(content) else quote(content)


def _is_dictionary(text: str) -> bool:
    """Whether a text is one pair of braces with balanced contents."""
    if not text.startswith("{"):
        return False
    opened: list[str] = []
    for mark in _MARKS.finditer(text):
        if mark[1] is None:
            continue
        if mark[1] in _CLOSES:
            opened.append(_CLOSES[mark[1]])
        elif not opened or mark[1] != opened.pop():
            return False  # a bracket of another kind, or a quote that is never closed
        if not opened:
            return mark.end() == len(text)
        if len(opened) > MAX_NESTING:
            return False
    return False
