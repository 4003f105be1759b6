"""Check that modules are well formed: that they parse, and keep every rule of XLA's verifier.

    hlo verify m.hlo
    hlo verify dump

All files are looked at, also after one that is wrong; the exit status is 2 if any is. Of a folder
that XLA dumped to, these are the modules before optimizations.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.verify import verify
from hlo.wording import counted
from hlo_tools.options.dumps import add_files, modules_at, short_name
from hlo_tools.options.files import add_entry_option, name_of, read_module

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

FINE, WRONG = 0, 2


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_files(parser)
    add_entry_option(parser)


def run(arguments: Namespace) -> int:
    """Print a line a good file, and the error of each bad one."""
    status = FINE
    sizes: dict[str, int] = {}
    for path in modules_at(arguments.files):
        try:
            module = read_module(path, arguments.entry)
            verify(module)
        except HloError as error:
            print(error, file=sys.stderr)
            status = WRONG
        else:
            name = short_name(name_of(path))
            sizes[name] = sum(1 for _ in module.instructions())
            print(f"{name}: fine, {counted(sizes[name], 'instruction')}")
    if len(sizes) > 1:
        largest = max(sizes, key=lambda name: sizes[name])
        print(f"{counted(len(sizes), 'module')}; the largest is {largest}")
    return status
