"""Serve a page on this machine: a text on the left, and what the compiler makes of it beside it.

The text is HLO, StableHLO, or Python with a function `program` for JAX and a tuple `arguments`. At
each change, the viewer shows it anew: rewrites, loops, C, CUDA C, graph and values; errors are
underlined. The address has a secret token, and the page is for this machine alone. A link to the
page holds the text itself. It needs `bottle` and `waitress`: pip install 'pyhlo[explore]'.
"""

from __future__ import annotations

import sys
import webbrowser
from typing import TYPE_CHECKING, Any

from hlo_tools.arguments import positive_number
from hlo_tools.explore.server import Explorer
from hlo_tools.explore.work import Workers

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("--port", type=int, default=0, help="the port (default: a free one)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--seconds",
        type=positive_number,
        default=20.0,
        metavar="S",
        help="the longest that showing a text may take (default 20)",
    )


def run(arguments: Namespace) -> int:
    """Serve until the command is interrupted."""
    explorer: Any = Explorer(Workers(arguments.seconds), arguments.port)
    print(explorer.address, flush=True)
    print("press Ctrl-C to stop", file=sys.stderr)
    if arguments.open:
        webbrowser.open(explorer.address)
    try:
        explorer.serve()
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        explorer.close()
    return 0
