"""The options by which verbs choose how equal two values must be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.subnormals import WORDS, chosen_subnormals, flushes_on_gpus
from hlo_tools.arguments import at_least, tolerance
from interpreter.numbers.compare import PROMISES, Promise

if TYPE_CHECKING:
    from argparse import Namespace, _ActionsContainer  # pyright: ignore[reportPrivateUsage]

    from hlo_tools.arguments import Parser

TOLERANCES = ("--rtol", "--atol", "--ulps")
TOLERANCE_OPTIONS = ("--promise", *TOLERANCES)


def add_tolerance_options(parser: Parser, default: str = "ROUNDING") -> None:
    """The options that `chosen_tolerance` looks at.

    Parameters
    ----------
    default : the promise if no option is given; another word than that of a promise tells people
        where it comes from.
    """
    parser.add_argument(
        "--promise",
        choices=PROMISES,
        default=default if default in PROMISES else None,
        help=f"how equal (default {default})",
    )
    near = parser.add_argument_group(
        "how near floats must be, in place of --promise",
        "A float may be RTOL * |wanted| + ATOL away, or N floats; NaN is equal to NaN, -0 to 0. "
        "The longer names are those of XLA's run_hlo_module.",
    )
    near.add_argument(
        "--rtol", "--rel_error_bound", type=tolerance, metavar="RTOL", help="relative (else 0)"
    )
    near.add_argument(
        "--atol", "--abs_error_bound", type=tolerance, metavar="ATOL", help="absolute (else 0)"
    )
    near.add_argument("--ulps", type=at_least(0), metavar="N", help="units in the last place")
    parser.not_with("--promise", *TOLERANCES)


def is_tolerance_chosen(arguments: Namespace) -> bool:
    """Whether any of the options was given, where there is no default."""
    return any(getattr(arguments, n) is not None for n in ("promise", "rtol", "atol", "ulps"))


def chosen_tolerance(arguments: Namespace) -> Promise:
    """The requested promise: by its name, or made of tolerances."""
    values = {name: getattr(arguments, name) for name in ("rtol", "atol", "ulps")}
    if all(value is None for value in values.values()):
        return PROMISES[arguments.promise]
    return Promise(zero_sign=True, **{k: v for k, v in values.items() if v is not None})


def between(promise: Promise, *names: str | None) -> Promise:
    """A promise, but for subnormal numbers where one of the platforms takes them for zeros."""
    on_gpus = any(name in names for name in ("cuda", "cuda-host")) and flushes_on_gpus()
    flushes = on_gpus or ("c" in names and chosen_subnormals(None) == "flush")
    return replace(promise, flushed=True) if flushes else promise


def add_subnormals_option(parser: _ActionsContainer) -> None:
    """The option that says whether compiled code keeps subnormal numbers."""
    parser.add_argument(
        "--subnormals",
        choices=WORDS,
        help="flush (default of C): compiled code takes them for zeros, as XLA's code for CPUs "
        "does; keep (default of CUDA): as IEEE 754 says, and as the interpreter does",
    )


def spell_tolerance(promise: Promise) -> str:
    """The text of a tolerance: `promise: ROUNDING`, or `rtol: 0.001, ulps: 2`."""
    named = replace(promise, flushed=False)
    if named in PROMISES.values():
        return f"promise: {named}"
    values = {"rtol": promise.rtol, "atol": promise.atol, "ulps": promise.ulps}
    return ", ".join(f"{name}: {value:g}" for name, value in values.items() if value) or "exactly"
