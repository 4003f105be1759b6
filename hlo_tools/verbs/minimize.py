"""Make a failing module as small as it can be made while it still fails.

    hlo minimize m.hlo --passes my_pass.py:Mine       a pass is wrong on it
    hlo minimize m.hlo --platform c --reference interpreter --rtol 1e-5
    hlo minimize m.hlo --platform my_backend.py:Mine  a backend of your own
    hlo minimize m.hlo --nan                          NaN arises in it
    hlo minimize m.hlo --command './compare.sh {}'    a shell command fails

First a small part is looked for that fails by itself, on the values that were there in the whole
module; then instructions are left out, called computations taken apart, shapes made smaller, and
constants and arguments plainer. The result goes to standard output or to -o, with its arguments
below it as comments; --save-inputs keeps them for `hlo run --input`.

A command fails if its exit status is the same as on the whole module, and not 0, or with
--interesting if it is 0; in it, {} stands for the file of the module and {inputs} for an .npz with
the arguments. The exit status of this verb
is 0 if the module was made smaller or is small already, and 1 if it does not fail.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hlo.backend_names import find
from hlo.errors.error import HloError
from hlo.wording import counted
from hlo_tools.arguments import at_least
from hlo_tools.console import console
from hlo_tools.options.files import (
    STANDARD,
    add_file,
    add_output_option,
    read_sound_module,
    write_text,
)
from hlo_tools.options.inputs import add_input_options, make_inputs
from hlo_tools.options.tolerances import (
    TOLERANCE_OPTIONS,
    add_tolerance_options,
    between,
    chosen_tolerance,
    is_tolerance_chosen,
)
from hlo_tools.own_passes import Promising, find_pass
from hlo_tools.search.failing import (
    Command,
    Different,
    NotANumber,
    WrongPass,
    arguments_of,
    holds,
    without_kind,
)
from hlo_tools.search.shrink.case import Case
from hlo_tools.search.shrink.shrink import shrink
from hlo_tools.values.arrays import save
from hlo_tools.values.show import spell_in_a_line
from interpreter.numbers.compare import ROUNDING
from optimizer.passes import Pipeline

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser
    from hlo_tools.search.failing import Failing

DONE, RIGHT = 0, 1
# Questions that are asked at most: time runs out before.
_MOST_TRIES = 1_000_000
_FAILURES = ("--passes", "--platform", "--nan", "--inf", "--command")


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    add_file(parser)
    failures = parser.add_argument_group("how it fails: one of")
    failures.add_argument(
        "--passes", metavar="A,B", help="this pass or pipeline is wrong: my_pass.py:Mine, `cse,dce`"
    )
    failures.add_argument("--platform", metavar="P", help="it gives another value than --reference")
    failures.add_argument("--nan", action="store_true", help="its value has NaN")
    failures.add_argument("--inf", action="store_true", help="its value has an infinity")
    failures.add_argument("--command", metavar="CMD", help="this shell command fails on it")
    parser.add_argument(
        "--reference", default="interpreter", metavar="P", help="the platform that is right"
    )
    parser.add_argument(
        "--interesting",
        action="store_true",
        help="the command's status 0, and no other, says that the module shows the mistake, as for "
        "C-Reduce and llvm-reduce",
    )
    parser.add_argument("--says", metavar="TEXT", help="the command's output must contain it, too")
    parser.add_argument(
        "--timeout",
        type=at_least(1),
        default=60,
        metavar="S",
        help="a command that takes longer has not failed (default 60 seconds)",
    )
    parser.add_argument(
        "--seconds",
        type=at_least(1),
        default=60,
        metavar="S",
        help="what is smallest by then is the result (default 60)",
    )
    add_output_option(parser)
    parser.add_argument(
        "--save-inputs", metavar="FILE", help="save the arguments as .npz, for `hlo run --input`"
    )
    add_input_options(parser)
    add_tolerance_options(parser, default="what the pass promises, or ROUNDING")
    parser.only_with(TOLERANCE_OPTIONS, "--passes", "--platform")
    parser.only_with(("--reference",), "--platform")
    parser.only_with(("--says", "--timeout", "--interesting"), "--command")
    parser.one_of(*_FAILURES)


def run(arguments: Namespace) -> int:
    """Make the module small, and write it."""
    module = read_sound_module(arguments.file, arguments.entry)
    with TemporaryDirectory(prefix="hlo-minimize-") as folder:
        failing = failure_of(arguments, Path(folder))
        inputs = make_inputs(module, arguments)
        if len(inputs) > 1:
            note = "--replicas 1 looks for it on one"
            raise HloError("HLO203", "a module is minimized on one device", notes=[note])
        case = Case(module, arguments_of(inputs))
        first = failing.failure(case)
        if first is None:
            reason = failing.reason if isinstance(failing, Command) else ""
            print(reason or "the module does not fail", file=sys.stderr)
            return RIGHT
        with console(stderr=True).status("looking for a smaller module") as status:

            def show(tried: Case, fails: bool | None) -> None:
                if fails:
                    status.update(f"looking for a smaller module than {count(tried)}")

            small = shrink(
                case,
                lambda c: holds(failing, first, c),
                tries=_MOST_TRIES,
                seconds=arguments.seconds,
                watch=show,
            )
        reason = failing.failure(small) or first
    lines = [f"// %{p.name} = {spell_in_a_line(v)}" for p, v in pairs(small)]
    about = "".join(f"{line}\n" for line in lines)
    text = str(small.module).rstrip("\n")
    write_text(arguments.output, f"{text}\n\n{about}" if about else f"{text}\n")
    if arguments.save_inputs:
        save(arguments.save_inputs, [tuple(small.arguments or ())])
    report = sys.stderr if arguments.output == STANDARD else sys.stdout
    print(f"{count(case)} became {count(small)}: {without_kind(reason)}", file=report)
    return DONE


def failure_of(arguments: Namespace, folder: Path) -> Failing:
    """The failure that the options name."""
    if arguments.passes:
        pass_ = find_pass(arguments.passes)
        if is_tolerance_chosen(arguments):
            pass_ = Promising(pass_, chosen_tolerance(arguments))
        elif isinstance(pass_, Pipeline):
            pass_ = Promising(pass_, ROUNDING)
        return WrongPass(pass_)
    if arguments.platform:
        chosen = is_tolerance_chosen(arguments)
        names = (arguments.platform, arguments.reference)
        promise = between(chosen_tolerance(arguments) if chosen else ROUNDING, *names)
        return Different(find(names[0]), find(names[1]), promise)
    if arguments.command:
        says, timeout = arguments.says or "", arguments.timeout
        return Command(arguments.command, folder, says, timeout, arguments.interesting)
    return NotANumber(infinite=arguments.inf)


def count(case: Case) -> str:
    """The size of a case."""
    return counted(sum(1 for _ in case.module.instructions()), "instruction")


def pairs(case: Case) -> list[tuple[Any, Any]]:
    """Parameters with their arguments."""
    return list(zip(case.module.entry.parameters, case.arguments or (), strict=True))
