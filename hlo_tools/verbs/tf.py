"""Run a script that uses TensorFlow, with the parts of its functions compiled that PyHLO compiles.

    hlo tf train.py --auto-cluster --explain
    hlo tf train.py --auto-cluster --dump-to new --since old -- --epochs 3

The script runs unchanged, as `python SCRIPT` would run it; its own words go after `--`. Functions
of `tf.function` are divided into clusters as `TF_XLA_FLAGS=--tf_xla_auto_jit=2` does, and all else
runs in TensorFlow. The report tells of each node outside why it is in no cluster.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.running.scripts import add_script, folder_made, require, run_script

if TYPE_CHECKING:
    import argparse

    from hlo_tf.clusters.run import Clustering
    from hlo_tools.arguments import Parser

REPORT = "report.txt"


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_script(parser)
    parser.add_argument(
        "--auto-cluster",
        action="store_true",
        help="compile the parts of functions that compile; without it, only functions of "
        "hlo_tf.function are compiled",
    )
    parser.add_argument(
        "--least",
        type=at_least(1),
        default=4,
        metavar="N",
        help="operations of a cluster, at least (default 4)",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="tell at the end which clusters there are, why other nodes are in none, and why "
        "functions were compiled again",
    )
    parser.add_argument(
        "--dump-to",
        metavar="DIR",
        help="write the graphs before and after each pass, their pictures, and the report",
    )
    parser.add_argument(
        "--since", metavar="DIR", help="show what differs from the report that a run dumped there"
    )
    parser.only_with(("--least",), "--auto-cluster")
    parser.only_with(("--dump-to",), "--auto-cluster")
    parser.only_with(("--since",), "--auto-cluster")


def run(arguments: argparse.Namespace) -> int:
    """Run the script."""
    earlier = _read(arguments.since) if arguments.since else ""
    folder = folder_made(arguments.dump_to) if arguments.dump_to else None
    require("tensorflow", "tf")
    from hlo_tf.clusters.mark_for_compilation import ClusterOptions  # noqa: PLC0415 - TensorFlow is there
    from hlo_tf.clusters.run import auto_cluster  # noqa: PLC0415
    from hlo_tf.functions import explain  # noqa: PLC0415

    chosen = ClusterOptions(least=arguments.least)
    watched = auto_cluster(chosen, folder) if arguments.auto_cluster else nullcontext()
    with watched as clustering:
        status = run_script(arguments.script, arguments.words)
    if clustering is not None:
        _tell(clustering, arguments, folder, earlier)
    elif arguments.explain:
        print(explain(), file=sys.stderr)
    return status


def _read(folder: str) -> str:
    try:
        return Path(folder, REPORT).read_text()
    except OSError as error:
        raise HloError("HLO200", f"cannot read {folder}/{REPORT}: {error.strerror}") from error


def _tell(
    clustering: Clustering, arguments: argparse.Namespace, folder: Path | None, earlier: str
) -> None:
    """Print the report, write it with the pictures, and show its difference from an earlier one."""
    from hlo_tf.clusters.report import difference  # noqa: PLC0415 - TensorFlow is there
    from hlo_tools.drawing.graphs.clusters import clusters_drawn  # noqa: PLC0415

    report = clustering.report()
    if arguments.explain:
        print(report, file=sys.stderr)
    for number, function in enumerate(clustering.functions) if folder else ():
        picture = clusters_drawn(function.graph, function.marks, function.name)
        end = "svg" if picture.startswith("<svg") else "dot"
        Path(folder or "", f"{function.name}_{number}.{end}").write_text(picture)
    if folder:
        Path(folder, REPORT).write_text(report + "\n")
    if arguments.since:
        difference_text = difference(earlier.rstrip("\n"), report) or "the clusters are the same"
        print(difference_text, file=sys.stderr)
