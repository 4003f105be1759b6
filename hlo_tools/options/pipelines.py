"""The options by which verbs choose passes."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from hlo.errors.error import HloError, did_you_mean
from hlo_tools.own_passes import find_pipeline
from optimizer.observers import keeps_values
from optimizer.passes import ALIASES, Fixpoint, Pipeline
from optimizer.pipelines import pipeline

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping

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
    real_name = ALIASES.get(name, name)
    if real_name not in running:
        notes = did_you_mean(name, running) or (f"there are: {', '.join(running)}",)
        raise HloError("HLO151", f"the pipeline has no pass `{name}`", notes=notes)
    return real_name


def passes_in(passes: Pass, names: Iterable[str]) -> list[str]:
    """The names of passes that run in a pipeline: by name, by pattern, or by family.

    A family is a folder of the optimizer, such as `loops` or `layout`; a pattern is that of a
    shell, such as `*-simplifier`. A name that is a pass's stands for this one.

    Raises
    ------
    HloError
        HLO151 if there is none.
    """
    running = dict(_with_families(passes))
    selected: dict[str, None] = {}
    for name in names:
        known = ALIASES.get(name, name) in running
        group = [] if known else [
            own_name
            for own_name, family in running.items()
            if family == name or ("*" in name and fnmatchcase(own_name, name))
        ]  # fmt: skip
        selected.update(dict.fromkeys(group or [_named(passes, name, running)]))
    return list(selected)


def _named(passes: Pass, name: str, running: Mapping[str, str]) -> str:
    try:
        return pass_in(passes, name)
    except HloError as error:
        families = ", ".join(sorted({family for family in running.values() if family}))
        raise error.noting(f"families are: {families}") from None


def _with_families(pass_: Pass) -> Iterator[tuple[str, str]]:
    """The name of each pass, and the folder of the optimizer that it is in."""
    is_group = isinstance(pass_, Pipeline | Fixpoint)
    parts = type(pass_).__module__.split(".")
    yield pass_.name, "" if is_group or len(parts) < 3 else parts[1]
    for inner in pass_.passes if is_group else ():
        yield from _with_families(inner)


def _names(pass_: Pass) -> Iterator[str]:
    yield pass_.name
    for inner in pass_.passes if isinstance(pass_, Pipeline | Fixpoint) else ():
        yield from _names(inner)
