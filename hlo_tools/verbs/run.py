"""Run a module on inputs from files, from a seed or all of one number, and print its value.

    hlo run m.hlo --seed 1
    hlo run m.hlo --platform c --input x.npy --expect y.npy --rtol 1e-5
    hlo run m.hlo --platform c --reference interpreter
    hlo run m.hlo --platform c --profile --quiet
    hlo run m.hlo --platform c --schedule mine.py:tiled --repeat 9
    hlo run m.hlo --platform cuda-host --checked
    hlo run m.hlo --platform cuda-host --schedule mine.py:on_threads --checked
    hlo run dump --platform c --reference interpreter
    hlo run m.hlo --platform my_backend.py:Mine --reference interpreter
    mpiexec -n 8 hlo run m.hlo --platform c --transport mpi

A platform is one of our own, of an installed package, or in a file of yours (docs/platforms.md).
--expect compares the value with a saved one, and --reference with another platform's; the exit
status is 1 if they differ. The arrays of an .npz file are taken in order; if some are named in0,
in1, ... or out0, out1, ..., --input and --expect take only those. Of several files, or of a folder,
each module has a line, and no value is printed.
"""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING, Any

from codegen.subnormals import assumed
from hlo.backend_names import OWN, find, names
from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.console import console
from hlo_tools.options.dumps import add_files, modules_at
from hlo_tools.options.files import (
    BETWEEN,
    add_entry_option,
    add_split_option,
    chosen_modules,
)
from hlo_tools.options.inputs import add_input_options, deal, make_inputs
from hlo_tools.options.tolerances import (
    TOLERANCE_OPTIONS,
    add_subnormals_option,
    add_tolerance_options,
    between,
    chosen_tolerance,
)
from hlo_tools.running.runners import chosen_runner, limit_threads, limits, run_once
from hlo_tools.running.several import SAME, report, run_all, tell_of_elided
from hlo_tools.running.transports import TRANSPORTS, one_speaks
from hlo_tools.values.arrays import load, save
from hlo_tools.values.show import spell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.backend import Backend
    from hlo.instruction import Module
    from hlo_tools.arguments import Parser

Value = Any  # an array, None for a token, or a tuple of values


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    platforms = f"{', '.join(OWN)}, or a backend of your own: FILE.py:NAME"
    add_files(parser)
    add_entry_option(parser)
    parser.add_argument("--platform", default="interpreter", metavar="P", help=platforms)
    add_input_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="save the value as .npz or .npy")
    add_split_option(parser)
    parser.add_argument(
        "--iterations",
        type=at_least(1),
        default=1,
        metavar="N",
        help="run on N random inputs, whose seeds count up from --seed",
    )
    parser.add_argument(
        "--repeat",
        type=at_least(1),
        metavar="N",
        help="run N times on the same inputs, and print the time of a run",
    )
    parser.add_argument("--quiet", action="store_true", help="do not print the value")
    parser.add_argument("--expect", metavar="FILE", help="compare with a saved value")
    parser.add_argument(
        "--reference", "--reference_platform", metavar="P", help="compare with another platform"
    )
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="write the value of every instruction: whole to .npz, shortened to a text, or to - "
        "(standard output)",
    )
    parser.add_argument(
        "--stop-at-nan", action="store_true", help="stop where NaN arises, or comes in"
    )
    parser.add_argument(
        "--stop-at-inf", action="store_true", help="stop where infinity arises, or comes in"
    )
    watched = parser.add_argument_group("of compiled modules: with --platform c")
    watched.add_argument(
        "--profile",
        action="store_true",
        help="list the time of each kernel; with --platform cuda, too",
    )
    watched.add_argument("--profile-trace", metavar="FILE", help="write them as a trace for Chrome")
    watched.add_argument(
        "--schedule",
        metavar="FILE.py:NAME",
        help="transform plain loops as this function of yours says, as `hlo opt` does; with "
        "--platform cuda and cuda-host, too",
    )
    watched.add_argument("--threads", type=at_least(1), metavar="N", help="use at most N threads")
    watched.add_argument(
        "--transport",
        choices=TRANSPORTS,
        help="devices are threads (default), or the processes that mpiexec has started, one each; "
        "the first of them prints",
    )
    add_subnormals_option(watched)
    watched.add_argument(
        "--sanitize",
        action="store_true",
        help="run with the C compiler's checks of addresses and of undefined behaviour",
    )
    watched.add_argument(
        "--mode",
        choices=("compiled", "eager"),
        help="eager: also run the module unoptimized, with a kernel for each instruction, and "
        "compare kernels, launches, bytes and times",
    )
    watched.add_argument(
        "--ablate",
        metavar="PASS",
        action="append",
        help="also run the module optimized without this pass, without several (PASS,PASS), or "
        "without a family of them (fusion, layout, loops, '*-simplifier', ...), and compare in the "
        "same way; may be given again",
    )
    parser.add_argument(
        "--checked",
        action="store_true",
        help="with --platform cuda-host: find races, and accesses out of bounds, of the kernels; "
        "--seed shuffles their threads",
    )
    parser.add_argument(
        "--no-library",
        action="store_true",
        help="with --platform cuda: do not call cuBLASLt and cuFFT",
    )
    parser.add_argument(
        "--max-iterations",
        type=at_least(0),
        metavar="N",
        help="stop with an error if an interpreted loop runs for more than N iterations",
    )
    add_tolerance_options(parser)
    _restrict(parser)


# The options of a run, with what a backend must offer for each.
WATCHING = {
    "trace": "observe",
    "stop_at_nan": "observe",
    "stop_at_inf": "observe",
    "profile": "profile",
    "profile_trace": "profile",
    "sanitize": "sanitize",
    "mode": "profile_as_is",
    "ablate": "profile_as_is",
    "checked": "checked",
    "no_library": "libraries",
    "transport": "transport",
    "schedule": "schedule",
}
# Those that may be about --reference, too.
LIMITS = {
    "max_iterations": "max_iterations",
    "threads": "threads",
    "subnormals": "subnormals",
}


def _restrict(parser: Parser) -> None:
    """Say which options go together."""
    parser.only_with(TOLERANCE_OPTIONS, "--expect", "--reference")
    watching = ("--profile", "--profile-trace", "--sanitize", "--mode", "--ablate")
    observed = ("--trace", "--stop-at-nan", "--stop-at-inf")
    for watch in ("--repeat", "--mode", "--ablate"):
        parser.not_with(watch, *watching[:3], *observed)
    parser.not_with("--repeat", "--mode", "--ablate", "--checked", "--no-library")
    parser.not_with("--iterations", "--input", "--fill", "--expect", "--output")
    parser.not_with("--split-input", "--output", "--expect", "--trace", "--profile-trace")
    parser.not_with("--sanitize", "--profile", "--profile-trace", "--threads")
    parser.not_with("--schedule", *watching[2:], *observed)
    parser.not_with("--transport", *watching, *observed, "--checked", "--no-library")
    for watch in watching[:2]:
        parser.not_with(watch, "--checked", "--no-library")


def refuse_idle_options(arguments: Namespace, backend: Backend, reference: Backend | None) -> None:
    """Refuse options that mean nothing to the backends.

    Raises
    ------
    HloError
        HLO203 for the first of them.
    """
    both = (backend if reference is None else reference).options | backend.options
    for option, needed in (WATCHING | LIMITS).items():
        value = getattr(arguments, option)
        offered = both if option in LIMITS else backend.options
        if value is None or value is False or value == [] or needed in offered:
            continue
        able = [f"--platform {name}" for name in names() if needed in find(name).options]
        spelled = option.replace("_", "-")
        raise HloError("HLO203", f"--{spelled} has no effect without {' or '.join(able)}")


def run(arguments: Namespace) -> int:
    """Run, print, save and compare each module."""
    with assumed(arguments.subnormals), one_speaks(arguments.transport) as speaks:
        return run_as_chosen(arguments, speaks=speaks)


def run_as_chosen(arguments: Namespace, *, speaks: bool) -> int:
    """Run, print, save and compare each module, where the environment says how to compile it.

    Parameters
    ----------
    speaks : print, save and compare; else another process does it.
    """
    backend = find(arguments.platform)
    other = find(arguments.reference) if arguments.reference else None
    refuse_idle_options(arguments, backend, other)
    reference = other and partial(run_once, other, limits(arguments, other))
    run_on = chosen_runner(arguments, backend)
    if arguments.threads is not None:
        limit_threads(arguments.threads, backend, other)
    paths = modules_at(arguments.files)
    if len(paths) > 1:
        return run_all(paths, arguments, run_on, reference)
    arguments.file = paths[0]
    status = SAME
    for number, module in enumerate(chosen_modules(arguments)):
        if number:
            print(BETWEEN)
        tell_of_elided(module)
        for iteration in range(arguments.iterations):
            chosen = Namespace(**vars(arguments))
            chosen.seed += iteration
            inputs = make_inputs(module, chosen)
            values = run_on(module, inputs)
            if speaks:
                status |= tell(module, inputs, values, arguments, reference)
    return status


def tell(
    module: Module,
    inputs: Sequence[Sequence[Any]],
    values: Sequence[Value],
    arguments: Namespace,
    reference: Callable[..., list[Value]] | None,
) -> int:
    """Print, save and compare the value of a module; gives the exit status."""
    status = SAME
    if not arguments.quiet:
        show(values)
    if arguments.output:
        save(arguments.output, values)
    promise = between(chosen_tolerance(arguments), arguments.platform, arguments.reference)
    if arguments.expect:
        wanted = expected(module, arguments.expect, len(values))
        status |= report(values, wanted, arguments.expect, promise)
    if reference:
        wanted = reference(module, inputs)
        status |= report(values, wanted, arguments.reference, promise)
    return status


def show(values: Sequence[Value]) -> None:
    """Print the value on each device."""
    terminal = console()
    for device, value in enumerate(values):
        if len(values) > 1:
            terminal.print(f"device {device}:", style="bold")
        for line in spell(value):
            terminal.print(line, markup=False)


def expected(module: Module, path: str, devices: int) -> list[Value]:
    """The saved value of each device."""
    return [value for (value,) in deal(load(path, "out"), [module.entry.root.shape], devices)]
