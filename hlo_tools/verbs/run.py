"""Run a module on inputs from files, from a seed or all of one number, and print its value.

--expect and --reference compare the value, and let the exit status be 1 if it differs: with a
saved one, or with another platform's. The arrays of an .npz file are taken in order; if some are
named in0, in1, ... or out0, out1, ..., --input and --expect take only those.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from hlo_tools.arguments import at_least
from hlo_tools.arrays import leaves, load, save
from hlo_tools.console import console
from hlo_tools.files import read_sound_module
from hlo_tools.inputs import add_input_options, deal, make_inputs
from hlo_tools.observers import observing
from hlo_tools.platforms import PLATFORMS, runner
from hlo_tools.show import spell
from hlo_tools.tolerances import (
    TOLERANCE_OPTIONS,
    add_tolerance_options,
    chosen_tolerance,
    spell_tolerance,
)
from interpreter.numbers.compare import compare

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from hlo.attributes import Constant
    from hlo.instruction import Module
    from hlo_tools.arguments import Parser
    from interpreter.numbers.compare import Promise

Value = Any  # an array, None for a token, or a tuple of values
SAME, DIFFERENT = 0, 1


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    platforms = "; ".join(f"{name}: {row.summary}" for name, row in PLATFORMS.items())
    parser.add_argument("file", metavar="FILE", help="HLO text, or - for standard input")
    parser.add_argument("--platform", default="interpreter", metavar="P", help=platforms)
    add_input_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the value as .npz or .npy")
    parser.add_argument("--quiet", action="store_true", help="do not print the value")
    parser.add_argument("--expect", metavar="FILE", help="compare with a saved value")
    parser.add_argument("--reference", metavar="P", help="compare with another platform")
    parser.add_argument(
        "--trace", metavar="FILE", help="write every value: whole to .npz, else as text"
    )
    parser.add_argument("--stop-at-nan", action="store_true", help="stop where NaN arises")
    parser.add_argument("--stop-at-inf", action="store_true", help="stop where infinity arises")
    watched = parser.add_argument_group("with --platform c")
    watched.add_argument("--profile", action="store_true", help="list what the kernels took")
    watched.add_argument("--profile-trace", metavar="FILE", help="and write a trace for Chrome")
    watched.add_argument(
        "--threads", type=at_least(1), metavar="N", help="use at most so many threads"
    )
    watched.add_argument(
        "--sanitize", action="store_true", help="run in a process that watches memory and sums"
    )
    parser.add_argument(
        "--max-turns",
        type=at_least(0),
        metavar="N",
        help="stop with an error where a loop, interpreted, goes on after N turns",
    )
    parser.only_with(("--max-turns",), "--platform interpreter", "--reference interpreter")
    add_tolerance_options(parser)
    parser.only_with(TOLERANCE_OPTIONS, "--expect", "--reference")
    parser.only_with(("--threads",), "--platform c", "--reference c")
    watching = ("--profile", "--profile-trace", "--sanitize")
    parser.only_with(watching, "--platform c")
    parser.not_with("--sanitize", "--profile", "--profile-trace", "--threads")


def run(arguments: Namespace) -> int:
    """Run, print, save and compare."""
    observed = bool(arguments.trace or arguments.stop_at_nan or arguments.stop_at_inf)
    limit = arguments.max_turns
    run_on = runner(arguments.platform, observed=observed, max_turns=limit)
    way = watched_runner(arguments)
    if arguments.threads is not None:
        limit_threads(arguments.threads)
    named = arguments.reference
    reference = runner(named, max_turns=limit) if named else None
    module = read_sound_module(arguments.file)
    tell_of_elided(module)
    inputs = make_inputs(module, arguments)
    with observing(
        module,
        trace=arguments.trace,
        stop_at_nan=arguments.stop_at_nan,
        stop_at_inf=arguments.stop_at_inf,
    ) as observe:
        values = way(module, inputs) if way else run_on(module, inputs, observe)
    if not arguments.quiet:
        terminal = console()
        for device, value in enumerate(values):
            if len(values) > 1:
                terminal.print(f"device {device}:", style="bold")
            for line in spell(value):
                terminal.print(line, markup=False)
    if arguments.output:
        save(arguments.output, values)
    status = SAME
    promise = chosen_tolerance(arguments)
    if arguments.expect:
        wanted = expected(module, arguments.expect, len(values))
        status |= report(values, wanted, arguments.expect, promise)
    if reference:
        status |= report(values, reference(module, inputs, None), arguments.reference, promise)
    return status


def tell_of_elided(module: Module) -> None:
    """Say on standard error that constants are left out of the text, and so stand for others."""
    elided = [
        instr.name
        for instr in module.instructions()
        if instr.opcode == "constant" and cast("Constant", instr.attrs).literal.elided
    ]
    if elided:
        others = f" and {len(elided) - 1} more" if elided[1:] else ""
        print(
            f"hlo: the text leaves out the value of {elided[0]}{others} (`{{...}}`); numbers are "
            "made up, as XLA does. XLA_FLAGS=--xla_dump_large_constants writes the value",
            file=sys.stderr,
        )


def watched_runner(
    arguments: Namespace,
) -> Callable[[Module, Sequence[Sequence[Any]]], list[Value]] | None:
    """What runs a module for a profile, or with sanitizers; None if neither is asked for."""
    profiles = arguments.profile or arguments.profile_trace
    if not profiles and not arguments.sanitize:
        return None
    from hlo_tools.watching import run_profiled, run_sanitized  # noqa: PLC0415

    if arguments.sanitize:
        return run_sanitized
    return partial(run_profiled, trace=arguments.profile_trace)


def limit_threads(number: int) -> None:
    """Let compiled modules use at most so many threads."""
    from emit_c import set_threads  # noqa: PLC0415

    set_threads(number)


def expected(module: Module, path: str, devices: int) -> list[Value]:
    """The saved value of each device."""
    return [value for (value,) in deal(load(path, "out"), [module.entry.root.shape], devices)]


def report(values: Sequence[Value], wanted: Sequence[Value], name: str, promise: Promise) -> int:
    """Compare the value on each device, and say where the first difference is."""
    for device, (value, want) in enumerate(zip(values, wanted, strict=True)):
        difference = compare(value, want, promise)
        if difference:
            where = f" on device {device}" if len(values) > 1 else ""
            print(f"different from {name}{where}: {difference}")
            return DIFFERENT
    count = sum(1 for value in values for _ in leaves(value))
    print(f"equal to {name}, arrays: {count}, {spell_tolerance(promise)}")
    return SAME
