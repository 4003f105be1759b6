"""Reading the files that a verb's FILE names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hlo
from hlo.errors.error import HloError
from hlo.files import decoded, parse_bytes, read_bytes
from hlo.frontends.protobuf.reading import is_message, read_message
from hlo.read.other_formats import is_bytecode
from hlo.verify import verify
from hlo_tools.options.dumps import only_module_in

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser

# Stands for standard input where a file is read, for standard output where one is written.
STANDARD = "-"
# Separates two modules of one file, as in the tests of MLIR and of XLA.
BETWEEN = "// -----"


def name_of(path: str) -> str:
    """The name of a file in messages."""
    return "<stdin>" if path == STANDARD else path


def add_file(parser: Parser, about: str = "HLO text, or - for standard input") -> None:
    """The argument for one file, and the option for its entry."""
    parser.add_argument("file", metavar="FILE", help=about)
    add_entry_option(parser)


def add_entry_option(parser: Parser) -> None:
    """The option that chooses a function of StableHLO."""
    parser.add_argument(
        "--entry",
        default="",
        metavar="NAME",
        help="of StableHLO, take this function for the program (default: main, or the only one)",
    )


def read_module(path: str, entry: str = "") -> Module:
    """Parse a file of HLO, StableHLO or XLA's messages, or standard input for `-`.

    Parameters
    ----------
    entry : of StableHLO, the function that becomes the entry computation.

    Raises
    ------
    HloError
        HLO200 if the file can't be read, HLO201 if it is neither; else as `hlo.parse`.
    """
    name = name_of(path)
    if Path(path).is_dir():
        path = name = only_module_in(path)
    raw = sys.stdin.buffer.read() if path == STANDARD else read_bytes(path)
    if is_message(raw, name) and not is_bytecode(raw):
        return read_message(raw, name)
    return parse_bytes(raw, name, entry)


def read_modules(path: str) -> list[Module]:
    """Parse and verify the modules of a file that lines of `// -----` part."""
    name = name_of(path)
    raw = sys.stdin.buffer.read() if path == STANDARD else read_bytes(path)
    lines = decoded(raw, name).splitlines(keepends=True)
    ends = [n for n, line in enumerate(lines) if line.strip() == BETWEEN]
    modules: list[Module] = []
    for start, end in zip([-1, *ends], [*ends, len(lines)], strict=True):
        part = lines[start + 1 : end]
        if any(line.strip() for line in part):
            # Lines are those of the file.
            modules.append(hlo.parse("\n" * (start + 1) + "".join(part), name))
            verify(modules[-1])
    return modules or [hlo.parse("".join(lines), name)]


def add_split_option(parser: Parser) -> None:
    """The option that lets a file have several modules."""
    parser.add_argument(
        "--split-input",
        "--split-input-file",
        action="store_true",
        help=f"FILE has several modules, with lines of `{BETWEEN}` between them",
    )


def chosen_modules(arguments: Namespace) -> list[Module]:
    """The module of the file, or its modules if it is to be split."""
    if arguments.split_input:
        return read_modules(arguments.file)
    return [read_sound_module(arguments.file, arguments.entry)]


def read_sound_module(path: str, entry: str = "") -> Module:
    """Parse and verify a file, or standard input for `-`; `entry` as for `read_module`."""
    module = read_module(path, entry)
    verify(module)
    return module


def add_output_option(parser: Parser, about: str = "write to a file") -> None:
    """The option for a file that gets what else goes to standard output."""
    parser.add_argument("-o", "--output", default=STANDARD, metavar="FILE", help=about)


def write_text(path: str, text: str) -> None:
    """Write a text to a file, or to standard output for `-`, surrogates as the bytes they were.

    Raises
    ------
    HloError
        HLO200 if the file can't be written.
    """
    if path == STANDARD:
        sys.stdout.write(text)
        return
    try:
        Path(path).write_bytes(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise HloError("HLO200", f"cannot write {path}: {error.strerror}") from error
