"""Simulate the entry computation on a GPU, and draw when each instruction runs.

    hlo timeline m.hlo
    hlo timeline m.hlo --topology torus:4x8 --bandwidth 100 --latency 2

The file is taken as it is, in its order: `hlo opt --target gpu --passes
async-wrapper,latency-hiding-scheduler` makes kernels run side by side before.

With --topology, the GPUs of a program of several devices are linked in a `ring`, a `torus:4x8`, or
a tree of switches (`tree`, of two children each; `tree:8x4`, eight devices below each of four
switches). A program with shardings is divided first. A collective takes the time of its fastest
algorithm on these links, and a loop that of all its iterations (16 where their number is unknown).
All devices run one program, so one picture tells of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.wording import counted
from hlo_tools.arguments import positive_number, tolerance
from hlo_tools.options.files import add_file, read_sound_module
from optimizer.gpu.device import A100
from optimizer.gpu.timeline import picture, simulate
from optimizer.partitioning.spmd_partitioning import divided
from optimizer.topology.fleet import fleet_of

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser
    from optimizer.topology.fleet import Fleet


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
    parser.add_argument(
        "--topology",
        metavar="LINKS",
        help="the links of several devices: ring, torus:4x8, tree, tree:8x4",
    )
    parser.add_argument(
        "--bandwidth",
        type=positive_number,
        metavar="GB/S",
        help="of each link in each direction (default 300)",
    )
    parser.add_argument(
        "--latency",
        type=tolerance,
        metavar="US",
        help="microseconds until the first byte has passed a link (default 2.5)",
    )
    parser.only_with(("--bandwidth", "--latency"), "--topology")


def run(arguments: Namespace) -> int:
    """Print the picture."""
    module = read_sound_module(arguments.file, arguments.entry)
    fleet = None
    if arguments.topology is not None:
        division = divided(module, entry=True)
        module = division.program if division else module
        bandwidth, latency = scaled(arguments.bandwidth, 1e9), scaled(arguments.latency, 1e-6)
        fleet = fleet_of(module, arguments.topology, bandwidth, latency)
        print(heading(fleet))
    spans = simulate(module.entry.instructions, A100, fleet and fleet.seconds)
    print(picture(spans))
    for span in spans if arguments.list else ():
        times = f"{span.start * 1e6:10.2f} {span.end * 1e6:10.2f}"
        estimate = fleet and fleet.collective(span.instr)
        how = f"  {estimate.algorithm}" if estimate else ""
        print(f"{times}  {span.lane:<10} %{span.instr.name}{how}")
    return 0


def scaled(value: float | None, unit: float) -> float | None:
    """A number in another unit."""
    return None if value is None else value * unit


def heading(fleet: Fleet) -> str:
    """The devices and their links."""
    links = fleet.topology
    return (
        f"{counted(fleet.grid[0] * fleet.grid[1], 'device')} ({fleet.device.name}), {links}: "
        f"{links.bandwidth / 1e9:g} GB/s and {links.latency * 1e6:g} microseconds a link"
    )
