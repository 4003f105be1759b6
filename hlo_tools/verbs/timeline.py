"""Simulate the entry computation on a GPU, and draw when each instruction runs.

The file is taken as it is, in its order: `hlo opt --target gpu --passes
async-wrapper,latency-hiding-scheduler` makes kernels run side by side before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tools.files import add_file, read_sound_module
from optimizer.gpu.device import A100
from optimizer.gpu.timeline import picture, simulate

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    parser.add_argument(
        "--target",
        choices=("gpu",),
        default="gpu",
        help="the machine that is simulated; a CPU runs one instruction after the other",
    )
    parser.add_argument("--list", action="store_true", help="a line for each instruction, too")


def run(arguments: Namespace) -> int:
    """Print the picture."""
    spans = simulate(read_sound_module(arguments.file, arguments.entry).entry.instructions, A100)
    print(picture(spans))
    for span in spans if arguments.list else ():
        times = f"{span.start * 1e6:10.2f} {span.end * 1e6:10.2f}"
        print(f"{times}  {span.lane:<10} %{span.instr.name}")
    return 0
