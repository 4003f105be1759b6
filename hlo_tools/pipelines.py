"""The options by which verbs choose passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError, did_you_mean
from hlo_tools.own_passes import find_pipeline
from optimizer.observers import keeps_values
from optimizer.passes import ALIASES, Fixpoint, Pipeline
from optimizer.pipelines import pipeline

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hlo_tools.arguments import Parser
    from optimizer.log import Pass


def add_pipeline_options(parser: Parser, *, with_code: bool = False) -> None:
    """The options that `chosen_pipeline` looks at.

    Parameters
    ----------
    with_code : the verb shows code for the target too, so that it matters beside chosen passes.
    """
    parser.add_argument(
        "--passes",
        metavar="A,B",
        help="passes by name, such as `cse,dce` (see `hlo passes`), or FILE.py:NAME",
    )
    parser.add_argument(
        "--target",
        choices=("cpu", "gpu"),
        default="cpu",
        help="the machine whose standard pipeline runs"
        f"{', and for which kernels are made' if with_code else ''} (default cpu)",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="leave out passes and rules of the standard pipeline that may change a bit of a value",
    )
    if not with_code:
        parser.not_with("--target", "--passes")
    parser.not_with("--strict", "--passes")


def chosen_pipeline(arguments: Namespace) -> Pipeline:
    """The requested passes, or the target's standard pipeline."""
    if arguments.passes:
        return find_pipeline(arguments.passes)
    return pipeline(arguments.target, strict=arguments.strict)


def expect_same_values(passes: Pass) -> None:
    """Refuse passes after which a module computes something else: there is nothing to compare.

    Raises
    ------
    HloError
        HLO204 if there is one.
    """
    if not keeps_values(passes):
        message = f"{passes.name} makes a module compute something else, such as its derivative"
        raise HloError("HLO204", message, notes=["the values before and after are not the same"])


def pass_in(passes: Pass, name: str) -> str:
    """XLA's name of a pass that runs in a pipeline, by that name or another one.

    Raises
    ------
    HloError
        HLO151 if no pass of the pipeline has the name.
    """
    running = sorted(set(_names(passes)))
    found = ALIASES.get(name, name)
    if found not in running:
        notes = did_you_mean(name, running) or (f"there are: {', '.join(running)}",)
        raise HloError("HLO151", f"the pipeline has no pass `{name}`", notes=notes)
    return found


def _names(pass_: Pass) -> Iterator[str]:
    yield pass_.name
    for inner in pass_.passes if isinstance(pass_, Pipeline | Fixpoint) else ():
        yield from _names(inner)
