"""The C or CUDA C of an optimized module, with the instructions that each line is about."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from hlo_tools.trace.kernels import c_emission
from hlo_tools.trace.linked import CodeLine, linked
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hlo.instruction import Module


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
    prepared, _, program = c_emission(module)
    known = {instr.name for instr in prepared.instructions()}
    kernels = {name: kernel.text for name, kernel in program.parts.kernels.items()}
    functions = program.parts.calls.text
    # Without the module, which has its own pane.
    before = program.source.sections[1 : -len(kernels) - len(functions.sections)]
    head = "".join(section.text for section in before)
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

    prepared, kernels = prepare(module, "gpu"), KernelFile()
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
            nested = value if is_dataclass(value[0]) else [part for some in value for part in some]
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


def assembly_sections(module: Module) -> list[CodeSection]:
    """The assembly of a module's C.

    Raises
    ------
    HloError
        HLO181 if there is no C; HLO180 if there is no compiler.
    """
    from emit_c.executable.assembly import assembly  # noqa: PLC0415

    prepared, _, program = c_emission(module)
    known = {instr.name for instr in prepared.instructions()}
    sections: list[CodeSection] = []
    for text in assembly(program).split("\n\n"):
        name = text.partition(":")[0]
        names = _hlo_names_of(program.hlo_names, name)
        lines = _inherited(text, _C_LINE, lambda words, names=names: _linked(words, names, known))
        sections.append(CodeSection(name, tuple(lines)))
    return sections


def ptx_sections(module: Module) -> list[CodeSection]:
    """The PTX of a module's CUDA C.

    Raises
    ------
    HloError
        HLO181 if there is no CUDA C; HLO195 if NVRTC is not installed.
    """
    import emit_cuda  # noqa: PLC0415
    from emit_cuda import nvrtc  # noqa: PLC0415
    from emit_cuda.kernels.file import KernelFile  # noqa: PLC0415

    prepared, kernels = prepare(module, "gpu"), KernelFile()
    source = emit_cuda.emit(prepared, kernels).source
    known = {instr.name for instr in prepared.instructions()}
    rows = source.split("\n")
    head, *entries = re.split(r"(?=^\.visible \.entry )", nvrtc.ptx(source), flags=re.MULTILINE)
    sections = [CodeSection("prelude", tuple(linked(head, {}, known)))]
    for text in entries:
        name = re.findall(r"\w+", text)[2]
        names = kernels.hlo_names.get(name, {})

        def of_row(number: str, names: Mapping[str, str] = names) -> tuple[str, ...]:
            row = int(number)
            return _linked(rows[row - 1], names, known) if 0 < row <= len(rows) else ()

        sections.append(CodeSection(name, tuple(_inherited(text, _PTX_LINE, of_row))))
    return sections


# What tells the line of C, or of CUDA C, of which the instructions below it are made.
_C_LINE: Final = re.compile(r"  // \d+: (.*)")
_PTX_LINE: Final = re.compile(r"\s*\.loc\s+1\s+(\d+)")


def _hlo_names_of(tables: Mapping[str, Mapping[str, str]], function: str) -> Mapping[str, str]:
    """The HLO names in a function, which a compiler may call by a longer name."""
    return tables.get(function) or tables.get(function.partition(".")[0]) or {}


def _linked(line: str, hlo_names: Mapping[str, str], known: set[str]) -> tuple[str, ...]:
    return next(linked(line, hlo_names, known)).names


def _inherited(
    text: str, of_line: re.Pattern[str], names_of: Callable[[str], tuple[str, ...]]
) -> Iterator[CodeLine]:
    """Lines of machine code, which are about what the line of source before them is about."""
    names: tuple[str, ...] = ()
    for line in text.rstrip("\n").split("\n"):
        if match := of_line.match(line):
            names = names_of(match[1])
        yield CodeLine(line, names)


# Who writes the code of a module that is optimized for a target, by language.
LANGUAGES: Final[dict[str, dict[str, Callable[[Module], list[CodeSection]]]]] = {
    "cpu": {"C": c_sections},
    "gpu": {"CUDA": cuda_sections},
}
# And the machine code of it, which takes a compiler a second or more.
MACHINE_CODE: Final[dict[str, dict[str, Callable[[Module], list[CodeSection]]]]] = {
    "cpu": {"Assembly": assembly_sections},
    "gpu": {"PTX": ptx_sections},
}
