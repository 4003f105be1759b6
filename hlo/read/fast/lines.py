"""Instructions in the form in which XLA prints them, on a line each: one regular expression."""

from __future__ import annotations

import re
from typing import NamedTuple

from hlo.names import KEYWORDS, TYPE_NAMES
from hlo.read.quoting import QUOTED

# The usual keys of metadata in the order in which XLA prints them, with values as it prints them:
# nothing that is empty or 0, every byte that is no printable character escaped.
_TEXT = (
    r'"(?>(?:[ !#-&(-\[\]-~]++|\\(?:[nrt"\'\\]|00[0-7]|01[0134567]|0[23][0-7]|177|[23][0-7]{2}))+)"'
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
_VALUE = rf"(?>(?:[^\s,(){{}}\[\]\"']++|{_NESTED}|{QUOTED}|\[[^\[\]{{}}\"']*+\])+)"
_OTHERS = rf"((?>(?:, (?!metadata=)[\w\-]+={_VALUE})*))"
SHAPE = r"[a-z]\w*\[[^\]]*\](?:\{[^{}]*\})?|\([^()]*\)"
# An instruction in the form in which XLA prints it, on one line: nothing nests deep in it. Groups:
# ROOT, name, shape, opcode, arguments, attributes, metadata, more attributes.
LINE = re.compile(
    rf"(ROOT )?%?((?!__)[A-Za-z_][\w.\-]*) = ({SHAPE}) ([a-z][\w\-]*)"
    rf"\(((?>(?:[^(){{}}\"']++|\{{[^{{}}()]*\}})*))\)"
    rf"{_OTHERS}(?:, metadata=\{{({METADATA})\}})?{_OTHERS}(?=\n)",
    re.ASCII,
)
LINE_ATTRIBUTE = re.compile(rf", ([\w\-]+)=({_VALUE})", re.ASCII)
TYPED_OPERAND = re.compile(rf"\s*({SHAPE}) %?([A-Za-z_][\w.\-]*)\s*(?:,|$)", re.ASCII)
_SPACE = re.compile(r"\s*", re.ASCII)
NO_PLAIN_NAMES = KEYWORDS | TYPE_NAMES


class Lines(NamedTuple):
    """Lines that follow each other, with a match of the pattern `LINE` for each."""

    matches: list[re.Match[str]]


def match_lines(text: str, pos: int) -> tuple[Lines | None, int]:
    """The plain instructions that follow each other from a line on, and where they end."""
    lines: list[re.Match[str]] = []
    while line := LINE.match(text, pos):
        if line[2] in NO_PLAIN_NAMES:
            break
        lines.append(line)
        pos = skip_space(text, line.end())
    return (Lines(lines) if lines else None), pos


def skip_space(text: str, pos: int) -> int:
    """The next character that is not blank."""
    match = _SPACE.match(text, pos)
    assert match  # it matches the empty text too
    return match.end()
