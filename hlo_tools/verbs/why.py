"""Tell why the optimizer decides as it does.

`hlo why fuse FILE A B` asks why the value of A is computed in the kernel of its user B, or why not.
The file is taken as it is; `hlo opt` shows what the passes before fusion make of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tools.files import read_module
from optimizer.fusion.why import why_fused

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """The verb's command line."""
    parser.add_argument("question", choices=("fuse",), help="the kind of decision")
    parser.add_argument("file", metavar="FILE", help="HLO text, or - for standard input")
    parser.add_argument("producer", metavar="A", help="name of an instruction")
    parser.add_argument("consumer", metavar="B", help="name of one that uses it")
    parser.add_argument(
        "--target", choices=("cpu", "gpu"), default="cpu", help="whose policy (default cpu)"
    )


def run(arguments: Namespace) -> int:
    """Print the decision, the rule and the numbers."""
    module = read_module(arguments.file)
    print(why_fused(module, arguments.producer, arguments.consumer, arguments.target))
    return 0
