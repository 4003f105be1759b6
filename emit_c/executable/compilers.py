"""Processes of the system's C compiler, which run while a module's other files are being written.

What a compiler made of one of several files is kept in the cache, for other modules that have the
same file: a program that was changed somewhere has most of its kernels as before.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from emit_c.executable.toolchain import (
    LINKER_FLAGS,
    MATHEMATICS,
    MEANING,
    SHARED,
    needs_mathematics,
)
from hlo.errors.error import HloError
from hlo.support.libraries import find_library, keep_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from emit_c.executable.toolchain import Toolchain


@dataclass(slots=True)
class _Compiler:
    """A compiler of one file.

    Attributes
    ----------
    made : what the compiler makes of it.
    """

    process: subprocess.Popen[str]
    made: Path


class Compilers:
    """Compilers of the files of one library; as a context, it ends when they all have.

    Parameters
    ----------
    flags : for compiling.
    folder : where temporary files may lie.
    """

    def __init__(self, toolchain: Toolchain, flags: Sequence[str], folder: Path) -> None:
        self._toolchain = toolchain
        self._command = (*toolchain.command, *MEANING, *flags, "-w")
        self._folder = TemporaryDirectory(dir=folder, prefix="build-")
        self._all: list[_Compiler] = []
        self._busy: dict[str, _Compiler] = {}  # by text
        self._there: dict[str, Path] = {}  # what is compiled already, by text

    @property
    def folder(self) -> Path:
        """The folder of its files, until the context ends."""
        return Path(self._folder.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for compiler in self._all:
            with compiler.process as process:
                # Not closed before its end: a compiler whose words nobody hears is killed, and its
                # assembler goes on to write into the folder.
                if process.stdout and not process.stdout.closed:
                    process.stdout.read()
        self._folder.cleanup()

    def take(self, unit: str) -> None:
        """Compile a file, if it never was, while the caller writes others."""
        if unit in self._busy or unit in self._there:
            return
        library = find_library(self._name(unit))
        if library:
            self._there[unit] = library
        else:
            self._busy[unit] = self._start(unit)

    def link(
        self,
        units: Iterable[str],
        linked: Sequence[str] | None = None,
        begun: Callable[[], object] = lambda: None,
    ) -> Path:
        """The library of some files; it is gone when the context ends.

        Parameters
        ----------
        linked : flags; those of modules are left out.
        begun : is called when all compilers are at work.

        Raises
        ------
        HloError
            HLO182 if the compiler refuses one.
        """
        units = dict.fromkeys(units)
        for unit in units:
            self.take(unit)
        begun()
        compiled = [unit for unit in units if unit not in self._there]
        for unit in compiled:
            _finish(self._busy[unit].process, unit)
        objects = [str(self._there.get(unit) or self._busy[unit].made) for unit in units]
        path = self._path(".so")
        is_plain = linked is None and not any(map(needs_mathematics, units))
        if linked is None:
            without = MATHEMATICS if is_plain else None
            linked = [flag for flag in self._toolchain.linked if flag != without]
        by_compiler = [*self._command, *SHARED, "-o", str(path), *objects, *linked]
        commands = [by_compiler]
        if is_plain and self._toolchain.linker:
            # The compiler takes as long to run the linker as the linker takes.
            linker, library = self._toolchain.linker
            commands.insert(0, [linker, *LINKER_FLAGS, "-o", str(path), *objects, library])
        linking = _process(commands[0])
        # A file of its own needs nothing kept but its library.
        for unit in compiled if len(units) > 1 else ():
            keep_library(self._name(unit), self._busy[unit].made.read_bytes())
        try:
            _finish(linking, "")
        except HloError:
            if len(commands) == 1:
                raise
            # $CC may compile for another machine, of which it tells its linker.
            _finish(_process(by_compiler), "")
        return path

    def _name(self, unit: str) -> str:
        """The name in the cache of the object file that a compiler makes of a source file."""
        key = "\0".join((self._toolchain.key, *self._command, unit))
        return f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.o"

    def _start(self, unit: str) -> _Compiler:
        text = self._path(".c")
        text.write_text(unit)
        target = text.with_suffix(".o")
        command = [*self._command, "-fPIC", "-c", "-o", str(target), str(text)]
        self._all.append(_Compiler(_process(command), target))
        return self._all[-1]

    def _path(self, suffix: str) -> Path:
        return self.folder / f"part{len(self._all)}{suffix}"


def _process(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _finish(process: subprocess.Popen[str], unit: str) -> None:
    messages = process.communicate()[0]
    if process.returncode:
        notes = explain(messages, unit)
        raise HloError("HLO182", "the C compiler refuses the emitted code", notes=notes)


def explain(messages: str, source: str) -> list[str]:
    """The compiler's errors, each with its line and the instruction whose kernel it is in."""
    from codegen.file_text import line_at  # noqa: PLC0415 - not to be loaded before an error

    lines: list[str] = []
    for number, message in re.findall(r"^[^:\n]*:(\d+):.*?error: (.*)$", messages, re.MULTILINE):
        where = line_at(source, int(number))
        lines += [f"{message}: {where}", *where.about]
    return lines[:20] or [messages.strip()[:2000]]
