"""Find the rewrite that makes the optimizer's result wrong.

The module is run by the interpreter before and after the passes. If the values differ by more than
the tolerance, the fewest rewrites after which they do are found by bisection: the last of them is
shown, and the exit status is 1. `hlo opt --fuel N` does rewrites 1 to N, and `--skip N` leaves out
that one.

A rewrite whose promise is weaker than BITS is judged where it is done: if the new instruction's
value is the old one's as far as it promises, the rewrite is listed, and the search goes on after
it. What rounding becomes later in the module is no mistake of the rewrite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.wording import counted
from hlo.write.print import print_instruction
from hlo_tools.options.files import add_file, read_sound_module
from hlo_tools.options.inputs import add_input_options, make_inputs
from hlo_tools.options.pipelines import add_pipeline_options, chosen_pipeline, expect_same_values
from hlo_tools.options.tolerances import add_tolerance_options, chosen_tolerance, spell_tolerance
from hlo_tools.search.bisection import Search

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser

RIGHT, WRONG = 0, 1


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    add_pipeline_options(parser)
    add_input_options(parser)
    add_tolerance_options(parser)


def run(arguments: Namespace) -> int:
    """Look for the wrong rewrite, and show it."""
    module = read_sound_module(arguments.file, arguments.entry)
    inputs = make_inputs(module, arguments)
    tolerance = chosen_tolerance(arguments)
    passes = chosen_pipeline(arguments)
    expect_same_values(passes)
    search = Search(module, passes, inputs)
    blamed = search.blamed(tolerance)
    for rewrite in search.kept:
        print(f"{rewrite.title}: it keeps its promise, {rewrite.promise}")
    count = len(search.events)
    if blamed is None:
        verdict = "no rewrite breaks its promise" if search.kept else "equal"
        print(f"{verdict} after {counted(count, 'rewrite')}, {spell_tolerance(tolerance)}")
        return RIGHT
    event = blamed.event
    print(f"rewrite {event.number} of {count} makes it wrong: {blamed.difference}")
    print(f"pass {'.'.join(event.path)}, rule {event.rule}")
    print(f"- {print_instruction(event.old)}")
    for instr in event.new:
        print(f"+ {print_instruction(instr)}")
    return WRONG
