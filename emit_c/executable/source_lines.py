"""The kernel of a C file to which a line belongs, and the HLO of that kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEAD = re.compile(r"(?:static )?(?:inline )?(?:void|int|[a-z]\w*) \*?(\w+)\(.*\{$")


@dataclass(frozen=True, slots=True)
class EmittedLine:
    """A line of emitted C.

    Attributes
    ----------
    function : that it is in; empty outside of all.
    about : the HLO that the kernel computes, a line an instruction; nothing for the prelude.
    """

    line: int
    text: str
    function: str
    about: tuple[str, ...]

    def __str__(self) -> str:
        """The line, its number and its function."""
        return f"line {self.line}, in {self.function or 'the prelude'}: {self.text}"


def line_at(source: str, line: int) -> EmittedLine:
    """The kernel of a line, counted from 1.

    The functions that belong to a kernel come before it, so that the next comment above a kernel
    speaks of them as well.
    """
    lines = source.split("\n")
    number = min(max(line, 1), len(lines))
    head = next((k for k in range(number - 1, -1, -1) if _HEAD.match(lines[k])), None)
    function = _HEAD.match(lines[head]) if head is not None else None
    name = function[1] if function else ""
    is_kernel = re.search(r"_kernel(_\d+)?$", name)
    about = _comment(lines, head) if is_kernel and head is not None else ()
    return EmittedLine(number, lines[number - 1].strip(), name, about)


def _comment(lines: list[str], head: int) -> tuple[str, ...]:
    """The comment above a function, or above the next one that has a comment."""
    for k in range(head, len(lines)):
        if _HEAD.match(lines[k]) and lines[k - 1].startswith("// "):
            first = k
            while first and lines[first - 1].startswith("// "):
                first -= 1
            return tuple(line.removeprefix("// ") for line in lines[first:k])
    return ()
