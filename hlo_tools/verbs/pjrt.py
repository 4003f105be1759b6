"""Write PyHLO as a PJRT library, for programs that are not Python.

Such a library is how XLA's front ends load a compiler: Reactant (Julia), EXLA (Nx, for Elixir), ZML
(Zig), GoMLX (Go), PyTorch/XLA, and JAX by `PJRT_NAMES_AND_LIBRARY_PATHS=pyhlo:./libpyhlo_pjrt.so`.
It starts this Python in their process, so both must stay where they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tools.options.files import write_text
from hlo_tools.running.scripts import require

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

NAME = "libpyhlo_pjrt.so"


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", default=NAME, help=f"the library's file (default: {NAME})"
    )
    parser.add_argument(
        "--header",
        metavar="FILE",
        help="also write a header for C: the part of XLA's pjrt_c_api.h that PyHLO has",
    )


def run(arguments: Namespace) -> int:
    """Build the library."""
    require("jaxlib", "jax")  # it reads programs
    from hlo_jax import loadable  # noqa: PLC0415 - other verbs do without JAX
    from hlo_jax.abi.header import header  # noqa: PLC0415

    path = Path(arguments.output)
    loadable.build(path)
    print(f"{path}: GetPjrtApi gives PyHLO's table of PJRT")
    if arguments.header:
        write_text(arguments.header, header())
    return 0
