"""Hold a pass, a rule or a backend of your own against the interpreter.

    hlo check my_pass.py:MyPass
    hlo check --backend my_backend.py:MyBackend

PASS is `my_pass.py:MyPass`, a class or an object with a `name` and `run(module, log)`, a rule or a
list of rules, or the text of a pipeline such as `cse,dce`. It runs on the FILEs if any are given,
and on modules that are made for it: instances of the left sides of its rules, modules of the
opcodes that its source names, golden cases, and what is nearly one of them. In some of these,
arrays lie in any memory order and bitcasts read them, so no layout may be forgotten. It must keep
values as exactly as its `promise` says (every bit, if it has none), keep the order that control
dependencies ask for, make well-formed modules, leave nothing for a second run, and do nothing
without fuel.

What XLA leaves open is used maliciously: an unstable sort may exchange equal elements, and indices
that claim to be sorted or unique, and are not, may give anything. Shardings, aliases and donors of
the entry computation must stay. Not tested are: speed and memory, metadata, layouts of values that
no bitcast reads, the signs and payloads of NaN, more than four devices, and arrays of more than a
few thousand elements. A rounding promise is tested by random numbers, which prove no bound.

The smallest module found on which it does not is printed, with its arguments, and the exit status
is 1. It is 1 as well if the pass never changed anything: then nothing was checked.

A backend is given each opcode with each element type, calls, loops and branches, random modules,
and what one call does not show: strides, aliases, donations, threads, memory and errors. It runs
in a process of its own, so it may crash. Movement and arithmetic of IEEE 754 must be right to the
bit, all else to 16 ULPs, and random modules to rounding. Refusals are counted, and no mistake.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.backend_names import find
from hlo.errors.error import HloError, did_you_mean
from hlo.support.own_code import blamed
from hlo.wording import counted
from hlo_tools.arguments import at_least
from hlo_tools.console import console
from hlo_tools.options.files import read_sound_module
from hlo_tools.options.pipelines import expect_same_values
from hlo_tools.options.tolerances import (
    TOLERANCE_OPTIONS,
    add_tolerance_options,
    chosen_tolerance,
    is_tolerance_chosen,
)
from hlo_tools.own_passes import Own, Promising, find_pass
from hlo_tools.search.checking.search import Tally, search, smallest
from optimizer.observers import promise_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from rich.status import Status

    from hlo.instruction import Module
    from hlo_tools.arguments import Parser
    from hlo_tools.search.checking.failure import Failure
    from optimizer.log import Pass

RIGHT, WRONG = 0, 1
# Errors of a file that says nothing about its pass.
UNFINISHED = (ImportError, NameError)
BETWEEN = 0.2  # seconds between two updates of the progress
# Of so many rules it is told how often they were applied.
MOST_RULES = 8
WAYS_OUT = (
    "so nothing was checked; give it FILEs that it changes, or let it name, in its own file, the\n"
    "opcodes that it looks for: modules are made of these"
)


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument(
        "pass_", metavar="PASS", nargs="?", help="my_pass.py:MyPass, or names of passes"
    )
    parser.add_argument("files", metavar="FILE", nargs="*", help="also run on these modules")
    parser.add_argument(
        "--backend", metavar="BACKEND", help="hold this backend against --reference, not a pass"
    )
    parser.add_argument(
        "--reference", default="interpreter", metavar="P", help="the backend that is right"
    )
    parser.add_argument(
        "--opcodes", metavar="A,B", help="hold the backend against it on these opcodes alone"
    )
    parser.add_argument(
        "--examples",
        type=at_least(1),
        default=200,
        metavar="N",
        help="modules to make (default 200)",
    )
    parser.add_argument(
        "--seed", type=at_least(0), default=0, metavar="N", help="of the modules (default 0)"
    )
    parser.add_argument("--rules", action="store_true", help="tell how often each rule applied")
    add_tolerance_options(parser, default="what the pass promises")
    parser.one_of("PASS", "--backend")
    parser.only_with(("--reference", "--opcodes"), "--backend")
    parser.only_with(("--rules", *TOLERANCE_OPTIONS), "PASS")


def run(arguments: Namespace) -> int:
    """Look for a module on which the pass or the backend is wrong."""
    if arguments.backend:
        return check_backend(arguments)
    checked, path = find_pass(arguments.pass_), None
    if isinstance(checked, Own):
        # What it raises is told with the module on which it does.
        checked, path = checked.inner, Path(checked.path)
    expect_same_values(checked)
    if is_tolerance_chosen(arguments):
        checked = Promising(checked, chosen_tolerance(arguments))
    with console(stderr=True).status(f"checking {checked.name}") as status:
        show = progress(checked, arguments.examples + len(arguments.files), status)
        failure, tally = search(
            checked, arguments.examples, arguments.seed, given_modules(arguments.files), show
        )
        if failure is not None and path is not None and isinstance(failure.raised, UNFINISHED):
            raise blamed(path, failure.raised)
        if failure is not None:
            status.update("looking for a smaller module")
            failure = smallest(checked, failure)
    if failure is not None:
        print(wrong(checked, failure, tally))
        return WRONG
    if not tally.changed:
        print(f"{checked.name} changed none of {counted(tally.modules, 'module')}, {WAYS_OUT}")
        return WRONG
    print(right(checked, tally))
    for line in [*stopped(tally), *applied(tally, arguments.rules)]:
        print(line)
    return RIGHT


def check_backend(arguments: Namespace) -> int:
    """Hold a backend against another one.

    Raises
    ------
    HloError
        as `find`; HLO204 if no module of an opcode can be made.
    """
    from hlo_tools.conformance import report  # noqa: PLC0415 - passes do without
    from hlo_tools.conformance.probes import OPCODES  # noqa: PLC0415
    from hlo_tools.conformance.suite import Suite, smallest  # noqa: PLC0415

    name, reference = arguments.backend, arguments.reference
    opcodes: list[str] = arguments.opcodes.split(",") if arguments.opcodes else []
    for backend in (name, reference):
        find(backend)
    for opcode in opcodes:
        if opcode not in OPCODES:
            notes = did_you_mean(opcode, OPCODES) or [f"there are: {', '.join(OPCODES)}"]
            raise HloError("HLO204", f"no modules are made of `{opcode}`", notes=notes)
    with console(stderr=True).status(f"checking {name}") as status:

        def show(about: str) -> None:
            status.update(f"checking {name}: {about}")

        suite = Suite(name, reference, arguments.examples, arguments.seed, opcodes, show=show)
        findings = suite.run()
        status.update("looking for a smaller module")
        shown = [smallest(name, reference, finding) for finding in report.chosen(findings)]
    report.write(findings, shown, name, reference)
    return WRONG if findings.failed else RIGHT


def given_modules(files: list[str]) -> Iterator[Module]:
    """The modules of the files."""
    return map(read_sound_module, files)


def progress(checked: Pass, count: int, status: Status) -> Callable[[Tally], None]:
    """A display of how far the search is, a few times a second where there is a terminal."""
    shown = time.monotonic()

    def show(tally: Tally) -> None:
        nonlocal shown
        if time.monotonic() - shown > BETWEEN:
            shown = time.monotonic()
            text = f"{tally.modules} of {counted(count, 'module')}, {tally.changed} changed"
            status.update(f"checking {checked.name}: {text}")

    return show


def right(checked: Pass, tally: Tally) -> str:
    """The report of a pass without a failure."""
    text = f"{checked.name} is right on {counted(tally.modules, 'module')}: it changes"
    every = tally.compared == tally.changed
    compared = "all of these" if every else f"the {tally.compared} of these that can be run"
    return (
        f"{text} {tally.changed} of them, and keeps the values of {compared}"
        f" (promise: {promise_of(checked)})"
    )


def stopped(tally: Tally) -> Iterator[str]:
    """A line about the modules on which only the first rewrites were made."""
    if tally.stopped:
        count = counted(tally.stopped.total(), "module")
        yield f"only its first rewrites of {count} were tested, such as: {min(tally.stopped)}"


def wrong(checked: Pass, failure: Failure, tally: Tally) -> str:
    """The report of a failure, on the smallest module."""
    after = f"after {counted(tally.right, 'module')} on which it is right"
    return f"{checked.name} is wrong, {after}\n\n{failure}"


def applied(tally: Tally, every: bool) -> Iterator[str]:
    """The number of uses of each rewrite, the most frequent first."""
    rules = tally.rewrites.most_common()
    shown = rules if every else rules[:MOST_RULES]
    if not rules:
        return
    total = counted(sum(tally.rewrites.values()), "rewrite")
    named = f"by {len(rules)} of {tally.rules} rules" if tally.rules else "by name"
    yield f"{total}, {named}:"
    yield from (f"  {count:6,}  {name}" for name, count in shown)
    if len(shown) < len(rules):
        yield f"          ... and {len(rules) - len(shown)} more (--rules shows all)"
    if every:
        yield from (f"       0  {name}" for name in tally.never)
