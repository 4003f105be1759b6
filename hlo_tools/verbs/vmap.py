"""Batch a module: print it as it computes for many examples at once.

    hlo vmap f.hlo --size 8
    hlo vmap f.hlo --size 8 --dimensions 0,-

Parameters get a dimension for the examples: the first one, or that of --dimensions; `-` stands for
a parameter that all examples share. Results have the examples in their first dimension. The pass
`batching` does it: `hlo opt --passes 'batching{dimensions=0,-,size=8}'`; after `derivative` it
gives the gradient of each example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tools.options.files import add_file, add_output_option, add_split_option
from hlo_tools.running.transformed import write_transformed

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    parser.add_argument("--size", metavar="N", required=True, help="the number of examples")
    parser.add_argument(
        "--dimensions",
        metavar="N,-",
        help="the dimension of each parameter for the examples, or - (default: 0 of all)",
    )
    add_output_option(parser)
    add_split_option(parser)


def run(arguments: Namespace) -> int:
    """Print each module in its batched form."""
    options = {"dimensions": arguments.dimensions, "size": arguments.size}
    write_transformed(arguments, "batching", options)
    return 0
