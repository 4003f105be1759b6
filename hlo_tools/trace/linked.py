"""Lines of code, each with the instructions that it is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class CodeLine:
    """A line of code, and the names of the instructions whose values it reads or makes."""

    text: str
    names: tuple[str, ...]


def linked(text: str, hlo_names: Mapping[str, str], known: set[str]) -> Iterator[CodeLine]:
    """The lines of a text, with the known names that their identifiers stand for."""
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("// %"):
            # A kernel's head: the line of an instruction that it computes.
            names = [line.removeprefix("// %").partition(" = ")[0]]
        else:
            names = [hlo_names.get(word, "") for word in _IDENTIFIER.findall(line)]
        yield CodeLine(line, tuple(name for name in dict.fromkeys(names) if name in known))
