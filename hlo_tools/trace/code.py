"""The C or CUDA C of an optimized module, with the instructions that each line is about."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from optimizer.dynamic_padder.boundary import static_form
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hlo.instruction import Module

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class CodeLine:
    """A line of code, and the names of the instructions whose values it reads or makes."""

    text: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class CodeSection:
    """A part of the file: the text before all kernels, a kernel, or the calls of kernels."""

    title: str
    lines: tuple[CodeLine, ...]


def c_sections(module: Module) -> list[CodeSection]:
    """The C of a module.

    Raises
    ------
    HloError
        HLO181 if it can't be emitted.
    """
    # It takes as long to import as all the rest.
    import emit_c  # noqa: PLC0415

    prepared = prepare(static_form(module))
    program = emit_c.emit(prepared)
    known = {instr.name for instr in prepared.instructions()}
    kernels = {name: each.text for name, each in program.parts.kernels.items()}
    functions = program.parts.calls.text
    source = program.source
    first = next(iter(kernels.values()), functions)
    start = source.find(first)
    head = source[:start].split("\n\n", 1)[-1]  # without the module, which has its own pane
    calls = _agreeing([n for name, n in program.hlo_names.items() if name not in kernels])
    sections = [CodeSection("prelude", tuple(linked(head, {}, known)))]
    for name, text in kernels.items():
        lines = linked(text, program.hlo_names.get(name, {}), known)
        sections.append(CodeSection(name, tuple(lines)))
    sections.append(CodeSection("calls", tuple(linked(functions, calls, known))))
    return sections


def cuda_sections(module: Module) -> list[CodeSection]:
    """The CUDA C of a module.

    Raises
    ------
    HloError
        HLO181 if it can't be emitted.
    """
    import emit_cuda  # noqa: PLC0415
    from emit_cuda.kernels.file import KernelFile  # noqa: PLC0415

    prepared, kernels = prepare(static_form(module), "gpu"), KernelFile()
    program = emit_cuda.emit(prepared, kernels)
    known = {instr.name for instr in prepared.instructions()}
    first = next(iter(kernels.texts.values()), "")
    source = kernels.source("")
    head = source[: source.find(first)] if first else source
    sections = [CodeSection("prelude", tuple(linked(head.lstrip("\n"), {}, known)))]
    for name, text in kernels.texts.items():
        sections.append(CodeSection(name, tuple(linked(text, kernels.hlo_names[name], known))))
    return [*sections, CodeSection("steps", tuple(_step_lines(program.steps, known)))]


def _step_lines(steps: Iterable[Any], known: set[str], depth: int = 0) -> Iterator[CodeLine]:
    """The steps of a program, a line each; those inside of loops and branches further right."""
    margin = "  " * depth
    for step in steps:
        values = {field.name: getattr(step, field.name) for field in fields(step)}
        inner = {name: value for name, value in values.items() if is_steps(value)}
        if "kernel" in values:
            grid, block = (",".join(map(str, values[key])) for key in ("grid", "block"))
            about: str = values["about"]
            text = f"{values['kernel']}<<<({grid}), ({block})>>>"
            yield CodeLine(margin + text, (about,) if about in known else ())
        else:
            yield CodeLine(f"{margin}{type(step).__name__.lower()}", ())
        for name, value in inner.items():
            yield CodeLine(f"{margin}  {name}:", ())
            nested = value if is_dataclass(value[0]) else [each for some in value for each in some]
            yield from _step_lines(nested, known, depth + 2)


def is_steps(value: Any) -> bool:
    """Whether a field of a step holds steps, or lists of steps: it is no slice of memory."""
    if not isinstance(value, tuple) or not value:
        return False
    first = cast("tuple[Any, ...]", value)[0]
    if isinstance(first, tuple):
        return is_steps(first)
    return is_dataclass(first) and not hasattr(first, "memory")


def _agreeing(tables: list[Mapping[str, str]]) -> dict[str, str]:
    """The meanings of identifiers in several functions, where all agree."""
    merged: dict[str, str] = {}
    for table in tables:
        for identifier, name in table.items():
            merged[identifier] = name if merged.get(identifier, name) == name else ""
    return merged


def linked(text: str, hlo_names: Mapping[str, str], known: set[str]) -> Iterator[CodeLine]:
    """The lines of a text, with the known names that their identifiers stand for."""
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("// %"):
            # A kernel's head: the line of an instruction that it computes.
            names = [line.removeprefix("// %").partition(" = ")[0]]
        else:
            names = [hlo_names.get(word, "") for word in _IDENTIFIER.findall(line)]
        yield CodeLine(line, tuple(name for name in dict.fromkeys(names) if name in known))


# Who writes the code of a module that is optimized for a target, by language.
LANGUAGES: Final[dict[str, dict[str, Callable[[Module], list[CodeSection]]]]] = {
    "cpu": {"C": c_sections},
    "gpu": {"CUDA": cuda_sections},
}
