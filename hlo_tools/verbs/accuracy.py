"""Tell how far results are from those in f64: of each instruction, and after each pass.

    hlo accuracy m.hlo                        instructions, worst first
    hlo accuracy m.hlo --passes cse,fusion    and results after these passes
    hlo accuracy m.hlo --platform c           and the result of a platform
    hlo accuracy m.hlo --instructions 5 --seed 3

The module is interpreted twice: as it is, and with every float in f64, rounded once at the end.
`whole` is the largest distance between the two in ULPs: units in the last place, in the module's
own type, of the largest element of the array; `relative` is the same as a part of that element.
`own` is what an instruction adds itself, on the operands that it has. `by element` has ULPs of each
element itself: where a 0 is in the place of 1e-9, they are many, and mean little beside a 1. After
passes, the result of the whole module is compared, as it is after each pass that changed something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.backend_names import find
from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.console import print_table, table_of
from hlo_tools.options.files import add_file, read_sound_module
from hlo_tools.options.inputs import add_input_options, make_inputs
from hlo_tools.options.pipelines import add_pipeline_options, chosen_pipeline
from hlo_tools.search.exact import instruction_errors, pass_errors

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from rich.table import Table

    from hlo_tools.arguments import Parser
    from hlo_tools.search.exact import InstructionError, PassError


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    add_pipeline_options(parser)
    add_input_options(parser)
    parser.add_argument(
        "--platform", metavar="P", help="also compare its result: c, or FILE.py:NAME"
    )
    parser.add_argument(
        "--instructions",
        type=at_least(0),
        default=20,
        metavar="N",
        help="list the N worst of them (default 20)",
    )


def run(arguments: Namespace) -> int:
    """Print both tables.

    Raises
    ------
    HloError
        HLO203 for several devices.
    """
    backend = find(arguments.platform) if arguments.platform else None
    module = read_sound_module(arguments.file, arguments.entry)
    inputs = make_inputs(module, arguments)
    if len(inputs) > 1:
        raise HloError("HLO203", "accuracy is measured on one device")
    rows = instruction_errors(module, inputs[0])
    stops = pass_errors(module, chosen_pipeline(arguments), inputs[0], backend)
    if arguments.instructions:
        print_table(instruction_table(rows, arguments.instructions))
    print_table(pass_table(stops))
    return 0


def instruction_table(rows: Sequence[InstructionError], most: int) -> Table:
    """The instructions that are furthest from f64, those that add most themselves first."""
    rows_table = table_of(("instruction", ""), ("own ulps", "whole ulps", "relative", "by element"))
    worst = sorted(rows, key=lambda r: (-(r.own.ulps if r.own else 0), -r.whole.ulps))
    for row in worst[:most]:
        own = "-" if row.own is None else spell_ulps(row.own.ulps)
        names = f"{row.instr.opcode} {row.instr.shape.text_without_layout}"
        whole, relative = spell_ulps(row.whole.ulps), f"{row.whole.relative:.2g}"
        by_element = f"{row.whole.by_element:,}"
        rows_table.add_row(f"%{row.instr.name}", names, own, whole, relative, by_element)
    return rows_table


def spell_ulps(ulps: float) -> str:
    """A number of ULPs, which may be less than one."""
    return f"{ulps:.2g}" if ulps < 10 else f"{ulps:,.0f}"


def pass_table(stops: Sequence[PassError]) -> Table:
    """The result after each pass that changed something."""
    rows_table = table_of(("result after",), ("ulps", "relative", "by element"))
    for stop in stops:
        name = stop.name or "no pass"
        error = stop.error
        numbers = f"{error.relative:.2g}", f"{error.by_element:,}"
        rows_table.add_row(name, spell_ulps(error.ulps), *numbers)
    return rows_table
