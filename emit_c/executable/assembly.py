"""The assembly that the system's compiler makes of a module's C, each part below its line of C."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from emit_c.executable.compilers import explain
from emit_c.executable.toolchain import MEANING, OPTIMIZED, toolchain
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from emit_c.program.emit import Program

# The name by which the assembly calls the C file.
_FILE = "module.c"
# Line numbers cost no optimization. Kernels call each other directly, as within one library.
_FLAGS = ("-g1", "-fno-verbose-asm", "-fPIC", "-fvisibility=hidden", "-w", "-S", "-x", "c")
_NAMED = re.compile(rf'\.file\s+(\d+)\s.*"{re.escape(_FILE)}"')
_LOCATED = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_SECTION = re.compile(r"\.(?:section\s+(?P<name>\S+)|(?P<text>text)|data|bss)\b")
_OF_CODE = re.compile(r'"?(\.text|__TEXT,__text)\b')
_LABEL = re.compile(r"([\w.$]+):")
_WORD = re.compile(r"[\w.$]+")


@dataclass(slots=True)
class AssemblyFunction:
    """A function in assembly.

    Attributes
    ----------
    lines : labels, instructions, and comments with the lines of C.
    words : registers, labels and functions that its instructions mention.
    """

    name: str
    lines: list[str] = field(default_factory=list[str])
    words: set[str] = field(default_factory=set[str])

    def __str__(self) -> str:
        """The function, without the labels to which nothing jumps."""
        labels = (_LABEL.fullmatch(line) for line in self.lines)
        pairs = zip(self.lines, labels, strict=True)
        lines = [line for line, label in pairs if not label or label[1] in self.words]
        return "\n".join([f"{self.name}:", *lines, ""])


def assembly(program: Program, kernel: str | None = None) -> str:
    """A program in the assembly of the machine, or of that for which $CC compiles.

    Each kernel is a function, as in a library that several compilers make, where a compiler of one
    file might write it into its caller.

    Parameters
    ----------
    kernel : the instruction whose kernel is shown, with the functions that it calls.

    Raises
    ------
    KeyError
        if no kernel is that of the instruction.
    HloError
        HLO180 if there is no compiler; HLO182 if it refuses the C.
    """
    parts = program.parts
    kernels = {
        name: replace(part, text=part.exported) if name in parts.entries else part
        for name, part in parts.kernels.items()
    }
    assembled = functions(_compiled(replace(parts, kernels=kernels).whole()), program.source)
    shown = assembled if kernel is None else called(assembled, program.kernels[kernel])
    return "\n".join(str(assembled[name]) for name in assembled if name in shown)


def _compiled(source: str) -> str:
    """Assembly of a C file."""
    command = [*toolchain().command, *MEANING, *OPTIMIZED, *_FLAGS, "-o", "-", "-"]
    marked = f'#line 1 "{_FILE}"\n{source}'
    done = subprocess.run(command, input=marked, capture_output=True, text=True, check=False)
    if done.returncode:
        notes = explain(done.stderr, source)
        raise HloError("HLO182", "the C compiler refuses the emitted code", notes=notes)
    return done.stdout


def functions(text: str, source: str) -> Mapping[str, AssemblyFunction]:
    """Functions in assembly of gcc or clang, for any processor and system, by their names.

    Of the directives, only those are looked at that name a section, a file, or a line of it.

    Parameters
    ----------
    source : the C of which `text` was made.
    """
    lines, defined = source.split("\n"), set(re.findall(r"\b(\w+)\(", source))
    functions_found: dict[str, AssemblyFunction] = {}
    current, in_code = AssemblyFunction(""), True
    file, at, last = "", 0, 0
    for line in text.splitlines():
        words = line.strip()
        if section := _SECTION.match(words):
            in_code = bool(section["text"] or _OF_CODE.match(section["name"] or ""))
        elif named := _NAMED.match(words):
            file = named[1]
        elif located := _LOCATED.match(words):
            at = int(located[2]) if located[1] == file else 0
        elif not in_code:
            continue
        elif label := _LABEL.match(line):
            if _plain(label[1]) in defined:
                current, last = functions_found.setdefault(label[1], AssemblyFunction(label[1])), 0
            else:
                current.lines.append(label[0])
        elif line[:1].isspace() and words and words[0] not in ".#/;@":
            if at != last and 0 < at <= len(lines):
                current.lines.append(f"  // {at}: {lines[at - 1].strip()}")
                last = at
            mnemonic, _, operands = words.expandtabs(1).partition(" ")
            current.lines.append(f"        {mnemonic:<7} {operands}".rstrip())
            current.words.update(_WORD.findall(operands))
    return functions_found


def called(listed: Mapping[str, AssemblyFunction], function: str) -> set[str]:
    """The names in assembly of a function of C, and of those that it calls, or these call."""
    waiting, seen = [name for name in listed if _plain(name) == function], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += listed.keys() & listed[name].words
    return seen


def _plain(name: str) -> str:
    """The name in C of a function: compilers name their variants of it, and Apple's add a line."""
    return name.partition(".")[0].removeprefix("_")
