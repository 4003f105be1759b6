"""Running several modules, a line for each, and comparing their values with others."""

from __future__ import annotations

import sys
import time
import warnings
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.wording import counted
from hlo_tools.options.dumps import short_name
from hlo_tools.options.files import name_of, read_sound_module
from hlo_tools.options.inputs import make_inputs
from hlo_tools.options.tolerances import between, chosen_tolerance, spell_tolerance
from hlo_tools.values.arrays import leaves
from hlo_tools.values.show import duration
from interpreter.engine.elided import ElidedConstantWarning, elided_text
from interpreter.numbers.compare import compare, flushed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Module
    from interpreter.numbers.compare import Promise

Value = Any  # an array, None for a token, or a tuple of values
SAME, DIFFERENT, BAD_INPUT = 0, 1, 2
# Options about the inputs or the values of one module.
OF_ONE = ("input", "output", "expect", "trace", "profile_trace", "split_input")


def run_all(
    paths: Sequence[str],
    arguments: Namespace,
    run_on: Callable[[Module, Sequence[Sequence[Any]]], list[Value]],
    reference: Callable[..., list[Value]] | None,
) -> int:
    """Run several modules, and print a line for each.

    Returns
    -------
    int
        1 if a value differs; else 2 if a module can't be run.

    Raises
    ------
    HloError
        HLO204 for an option about one module.
    """
    for option in OF_ONE:
        if getattr(arguments, option):
            message = f"--{option.replace('_', '-')} is for one module, not {len(paths)}"
            raise HloError("HLO204", message)
    status, failed = SAME, False
    promise = between(chosen_tolerance(arguments), arguments.platform, arguments.reference)
    for path in paths:
        name = short_name(name_of(path))
        try:
            module = read_sound_module(path, arguments.entry)
            tell_of_elided(module)
            for iteration in range(arguments.iterations):
                chosen = Namespace(**vars(arguments))
                chosen.seed += iteration
                inputs = make_inputs(module, chosen)
                start = time.perf_counter()
                values = run_on(module, inputs)
                taken = duration(time.perf_counter() - start)
                if reference is None:
                    count = sum(1 for value in values for _ in leaves(value))
                    print(f"{name}: arrays: {count}, in {taken}")
                else:
                    wanted = reference(module, inputs)
                    outcome, differs = compared(values, wanted, arguments.reference, promise)
                    print(f"{name}: {outcome}")
                    status |= differs
        except HloError as error:
            print(f"{name}: not run\n{error}", file=sys.stderr)
            failed = True
    return BAD_INPUT if failed and status == SAME else status


def tell_of_elided(module: Module) -> None:
    """Say on standard error that constants are left out of the text, and so stand for others."""
    if message := elided_text(module):
        print(f"hlo: {message}", file=sys.stderr)
    # It is said once, in the words of the command line.
    warnings.filterwarnings("ignore", category=ElidedConstantWarning)


def report(values: Sequence[Value], wanted: Sequence[Value], name: str, promise: Promise) -> int:
    """Compare the value on each device, and print where the first difference is."""
    outcome, status = compared(values, wanted, name, promise)
    print(outcome)
    return status


def compared(
    values: Sequence[Value], wanted: Sequence[Value], name: str, promise: Promise
) -> tuple[str, int]:
    """Compare the value on each device: the first difference, or that there is none."""
    zeros = 0
    for device, (value, want) in enumerate(zip(values, wanted, strict=True)):
        difference = compare(value, want, promise)
        if difference:
            where = f" on device {device}" if len(values) > 1 else ""
            return f"different from {name}{where}: {difference}", DIFFERENT
        zeros += flushed(value, want) if promise.flushed else 0
    count = sum(1 for value in values for _ in leaves(value))
    outcome = f"equal to {name}, arrays: {count}, {spell_tolerance(promise)}"
    if zeros:
        outcome += f", but for {counted(zeros, 'subnormal number')} taken for 0 (--subnormals)"
    return outcome, SAME
