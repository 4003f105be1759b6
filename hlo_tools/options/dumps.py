"""The modules of files and folders: those that XLA dumped, or any others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_tools.arguments import Parser

# Modules of a dump, as text or as messages, and those of other folders; text is taken first.
_BEFORE = "before_optimizations"
_OF_DUMPS = tuple(f"{_BEFORE}{end}" for end in (".txt", ".hlo.pb", ".pb"))
_OF_OTHERS = (".hlo", ".mlir", ".hlo.pb", ".pb", ".pbtxt")


def add_files(parser: Parser) -> None:
    """The argument for any number of files and folders."""
    about = "HLO text, or - for standard input, or a folder: all of its modules"
    parser.add_argument("files", nargs="+", metavar="FILE", help=about)


def modules_at(paths: Sequence[str]) -> list[str]:
    """The files of modules: those named, and those in the folders named, by name and number.

    Raises
    ------
    HloError
        HLO200 for a folder without modules.
    """
    files: list[str] = []
    for path in paths:
        files += _in_folder(path) if Path(path).is_dir() else [path]
    return files


def only_module_in(folder: str) -> str:
    """The only module of a folder.

    Raises
    ------
    HloError
        HLO200 if there is none, or several.
    """
    paths = _in_folder(folder)
    if len(paths) == 1:
        return paths[0]
    names = [f"name one: {Path(path).name}" for path in paths]
    raise HloError("HLO200", f"{folder} has {counted(len(paths), 'module')}", notes=names)


def short_name(path: str) -> str:
    """The name of a module's file in a table: that of XLA's dump without its end."""
    name = Path(path).name
    return name.partition(f".{_BEFORE}")[0] if _BEFORE in name else path


def _in_folder(folder: str) -> list[str]:
    names = sorted((path.name for path in Path(folder).iterdir()), key=_naturally)
    for ends in (_OF_DUMPS, _OF_OTHERS):
        # The same module may be there in several forms.
        modules: dict[str, str] = {}
        for end in ends:
            for name in names:
                if name.endswith(end):
                    modules.setdefault(name.removesuffix(end), name)
        if modules:
            ordered = sorted(modules.values(), key=_naturally)
            return [str(Path(folder, name)) for name in ordered]
    note = "XLA_FLAGS=--xla_dump_to=DIR writes it: module_0000.NAME.before_optimizations.txt"
    message = f"{folder} is a folder without a module before optimizations"
    raise HloError("HLO200", message, notes=[note])


def _naturally(name: str) -> list[tuple[int, str]]:
    """The order of names in which 9 comes before 10."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
