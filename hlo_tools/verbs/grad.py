"""Differentiate a module: print it with its gradients, or with another derivative.

    hlo grad loss.hlo -o gradient.hlo
    hlo grad loss.hlo --wrt 0,2 --checkpoint
    hlo grad f.hlo --mode forward

The new module yields the value and, for each parameter of --wrt, the gradient of the result, which
is one number. With `--mode forward` it takes a tangent of each of these parameters, and yields the
change of the result; with `--mode vjp` a cotangent of the result, and yields that of each
parameter. The pass `derivative` does it: `hlo opt --passes 'derivative{wrt=0,2},dce'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tools.options.files import add_file, add_output_option, add_split_option
from hlo_tools.running.transformed import write_transformed
from optimizer.derivative.derivative import MODES

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    parser.add_argument(
        "--wrt",
        metavar="N,M",
        help="numbers of the parameters by which to differentiate (default: all real and complex)",
    )
    parser.add_argument(
        "--mode", choices=MODES, default="reverse", help="which derivative (default reverse)"
    )
    parser.add_argument(
        "--of", metavar="N", help="which of several results has the gradient, counted from 0"
    )
    parser.add_argument(
        "--checkpoint",
        action="store_true",
        help="loops of n iterations keep every sqrt(n)-th state, and compute the others again",
    )
    add_output_option(parser)
    add_split_option(parser)


def run(arguments: Namespace) -> int:
    """Print each module with its derivative."""
    options = {
        "wrt": arguments.wrt,
        "mode": arguments.mode,
        "of": arguments.of,
        "checkpoint": "true" if arguments.checkpoint else None,
    }
    write_transformed(arguments, "derivative", options)
    return 0
