"""The C of an optimized module, with the instructions that each line is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from optimizer.dynamic_padder.boundary import static_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from hlo.instruction import Module

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class CodeLine:
    """A line of C, and the names of the instructions whose values it reads or makes."""

    text: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A part of the file: what stands before all kernels, a kernel, or what calls them."""

    title: str
    lines: tuple[CodeLine, ...]


def c_sections(module: Module) -> list[Section]:
    """The C of a module.

    Raises
    ------
    HloError
        HLO181 if it can't be emitted.
    """
    # It takes as long to import as all the rest.
    import emit_c  # noqa: PLC0415

    static = static_form(module)
    program = emit_c.emit(static)
    known = {instr.name for instr in static.instructions()}
    kernels, functions = program.parts.kernels, program.parts.functions
    source = program.source
    first = next(iter(kernels.values()), functions)
    start = source.find(first)
    head = source[:start].split("\n\n", 1)[-1]  # without the module, which has its own pane
    calls = _agreeing([meant for name, meant in program.meant.items() if name not in kernels])
    sections = [Section("prelude", tuple(_lines(head, {}, known)))]
    for name, text in kernels.items():
        sections.append(Section(name, tuple(_lines(text, program.meant.get(name, {}), known))))
    sections.append(Section("calls", tuple(_lines(functions, calls, known))))
    return sections


def _agreeing(tables: list[Mapping[str, str]]) -> dict[str, str]:
    """What identifiers mean in several functions, where all say the same."""
    merged: dict[str, str] = {}
    for table in tables:
        for identifier, name in table.items():
            merged[identifier] = name if merged.get(identifier, name) == name else ""
    return merged


def _lines(text: str, meant: Mapping[str, str], known: set[str]) -> Iterator[CodeLine]:
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("// %"):
            # A kernel's head: the line of an instruction that it computes.
            names = [line.removeprefix("// %").partition(" = ")[0]]
        else:
            names = [meant.get(word, "") for word in _IDENTIFIER.findall(line)]
        yield CodeLine(line, tuple(name for name in dict.fromkeys(names) if name in known))


# Who writes the code of a module, by language.
LANGUAGES: Final[dict[str, Callable[[Module], list[Section]]]] = {"C": c_sections}
