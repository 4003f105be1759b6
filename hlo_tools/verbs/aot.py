"""Compile a module ahead of time: C files for programs in C or C++, which need no Python.

The folder gets the module's C and its header with one documented function, the runtime library, a
Makefile, and an example that calls the function: `make -C DIR && DIR/example`. Where the module
calls LAPACK, that of the system is linked, or another one (`make LAPACKLIBS=...`).
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import optimizer
from emit_c.conditions import conditions_for
from emit_c.executable.ahead import files
from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.options.files import add_file, read_sound_module, write_text
from hlo_tools.options.tolerances import add_subnormals_option

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="where files go")
    parser.add_argument("--name", help="of the function and its files (default: the module's)")
    add_subnormals_option(parser)
    parser.add_argument("--threads", type=at_least(1), metavar="N", help="use at most N threads")
    parser.add_argument("--no-optimize", action="store_true", help="leave the module as it is")


def run(arguments: Namespace) -> int:
    """Write the files, and print how to use them."""
    module = read_sound_module(arguments.file, arguments.entry)
    if not arguments.no_optimize:
        module = optimizer.optimize(module, target="cpu")
    conditions = conditions_for(arguments.subnormals, arguments.threads)
    texts = files(module, arguments.name or module.name, conditions)
    folder = Path(arguments.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HloError("HLO200", f"cannot make the folder {folder}: {error.strerror}") from error
    for name, text in texts.items():
        write_text(str(folder / name), text)
        print(folder / name)
    where = shlex.quote(str(folder))
    program = shlex.quote(str(folder.resolve() / "example"))
    print(f"to build and run the example: make -C {where} && {program}")
    return 0
