"""Find the rewrite that makes the optimizer's result wrong.

The module is run by the interpreter before and after the passes. If the values differ by more than
the promise allows, the fewest rewrites after which they do are found by bisection: the last of them
is shown, and the exit status is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.write.print import print_instruction
from hlo_tools.files import read_sound_module
from hlo_tools.inputs import add_input_options, make_inputs
from hlo_tools.pipelines import add_pipeline_options, chosen_pipeline
from interpreter import evaluate
from interpreter.numbers.compare import PROMISES, Difference, Promise, compare
from optimizer.log import Event, Log
from optimizer.observers import Trace

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from hlo.instruction import Module
    from optimizer.log import Pass

RIGHT, WRONG = 0, 1


def add_arguments(parser: ArgumentParser) -> None:
    """The verb's command line."""
    parser.add_argument("file", metavar="FILE", help="HLO text, or - for standard input")
    add_pipeline_options(parser)
    add_input_options(parser)
    parser.add_argument(
        "--promise", choices=PROMISES, default="ROUNDING", help="how equal (default ROUNDING)"
    )


def run(arguments: Namespace) -> int:
    """Look for the wrong rewrite, and show it."""
    module = read_sound_module(arguments.file)
    passes = chosen_pipeline(arguments)
    inputs = make_inputs(module, arguments)
    promise = PROMISES[arguments.promise]
    want = evaluate(module, per_device=inputs)

    def difference_after(fuel: int | None) -> Difference | None:
        return differs(optimized(module, passes, fuel)[0], inputs, want, promise)

    events = optimized(module, passes, None)[1]
    if difference_after(None) is None:
        print(f"equal after {len(events)} rewrites, promise: {arguments.promise}")
        return RIGHT
    fuel = fewest(len(events), lambda count: difference_after(count) is not None)
    culprit = events[fuel - 1]
    print(f"rewrite {fuel} of {len(events)} makes it wrong: {difference_after(fuel)}")
    print(f"pass {'.'.join(culprit.path)}, rule {culprit.rule}")
    print(f"- {print_instruction(culprit.old)}")
    for instr in culprit.new:
        print(f"+ {print_instruction(instr)}")
    return WRONG


def optimized(module: Module, passes: Pass, fuel: int | None) -> tuple[Module, list[Event]]:
    """The module after so many rewrites, and the rewrites."""
    trace = Trace()
    made = Log(observers=[trace], fuel=fuel).run(passes, module)
    return made, trace.events


def differs(module: Module, inputs: Any, want: Any, promise: Promise) -> Difference | None:
    """How a module's value differs from another one."""
    for got, expected in zip(evaluate(module, per_device=inputs), want, strict=True):
        if difference := compare(got, expected, promise):
            return difference
    return None


def fewest(most: int, wrong: Callable[[int], bool]) -> int:
    """The least number from 1 to `most` from which on something is wrong."""
    good, bad = 0, most
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if wrong(middle) else (middle, bad)
    return bad
