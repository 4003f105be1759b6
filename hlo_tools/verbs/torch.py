"""Run a script that uses PyTorch, with PyHLO in place of the default backend of `torch.compile`.

    hlo torch train.py --report
    hlo torch train.py --dump-to modules -- --epochs 3

The script runs unchanged, as `python SCRIPT` would run it; its own words go after `--`. PyHLO is
the backend wherever the script names none, or `inductor`, whose modes and options are left out;
another backend stays. The report lists the graphs, and why operations ran in PyTorch.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tools.running.scripts import add_script, folder_made, require, run_script

if TYPE_CHECKING:
    import argparse

    from hlo_tools.arguments import Parser


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_script(parser)
    parser.add_argument(
        "--report",
        action="store_true",
        help="tell at the end which graphs were compiled, and why operations ran in PyTorch",
    )
    parser.add_argument(
        "--dump-to", metavar="DIR", help="write the module of each graph, and the report"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the script."""
    folder = folder_made(arguments.dump_to) if arguments.dump_to else None
    require("torch", "torch")
    from hlo_torch import report  # noqa: PLC0415 - torch is there
    from hlo_torch.dynamo import compiling_by_default  # noqa: PLC0415

    with compiling_by_default(dump_to=arguments.dump_to or ""):
        status = run_script(arguments.script, arguments.words)
    if arguments.report:
        print(report(), file=sys.stderr)
    if folder:
        Path(folder, "report.txt").write_text(report() + "\n")
    return status
