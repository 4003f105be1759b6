"""Check that modules are well formed: that they parse, and keep every rule of XLA's verifier.

All files are looked at, also after one that is wrong; the exit status is 2 if any is.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.verify import verify
from hlo.wording import counted
from hlo_tools.files import name_of, read_module

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

FINE, WRONG = 0, 2


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="HLO text, or - for stdin")


def run(arguments: Namespace) -> int:
    """Print a line a good file, and the error of each bad one."""
    status = FINE
    for path in arguments.files:
        try:
            module = read_module(path)
            verify(module)
        except HloError as error:
            print(error, file=sys.stderr)
            status = WRONG
        else:
            count = sum(1 for _ in module.instructions())
            print(f"{name_of(path)}: fine, {counted(count, 'instruction')}")
    return status
