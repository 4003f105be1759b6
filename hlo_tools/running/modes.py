"""A module compiled in several ways, side by side: optimized, eagerly, and without single passes.

*Eager* is how a library of array functions works: each instruction is a kernel of its own, whose
value goes to memory, and no pass looks at the whole. What a pass is worth is seen without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import optimizer
from hlo.errors.error import HloError
from hlo_tools.console import table_of
from hlo_tools.options.pipelines import passes_in
from hlo_tools.values.show import duration, spelled_bytes
from optimizer.log import Log
from optimizer.observers import Verify
from optimizer.passes import Fixpoint, Pipeline
from optimizer.pipelines import pipeline, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from rich.table import Table

    from hlo.instruction import Module
    from optimizer.log import Pass


@dataclass(frozen=True, slots=True)
class ModeRun:
    """A module as it was compiled in one way, and run.

    Attributes
    ----------
    kernels, launches : different functions, and how often one is called in a run.
    bytes : that they read and write, by the model of `optimizer.analysis.cost`.
    seconds : of the fastest of several runs.
    refused : why it cannot be compiled so; then the rest is 0.
    """

    title: str
    value: Any = None
    kernels: int = 0
    launches: int = 0
    bytes: int = 0
    seconds: float = 0.0
    refused: str = ""


def ways(
    module: Module,
    arguments: Sequence[Any],
    mode: str,
    ablated: Sequence[str],
    profile: Callable[..., Any],
) -> list[ModeRun]:
    """The module in the requested mode, beside others.

    Parameters
    ----------
    mode : "compiled" or "eager"; the latter is shown first, beside the former.
    ablated : names of passes or of families of them, such as `fusion` or `*-simplifier`, each to
        be left out once; several between commas together.
    profile : runs an optimized module, and gives its value and kernels.

    Raises
    ------
    HloError
        HLO151 if the standard pipeline has no such pass; else what compiling the module raises.
    """
    whole = pipeline("cpu")
    left_out = [passes_in(whole, names.split(",")) for names in ablated]
    runs = [way("eager", module, arguments, profile)] if mode == "eager" else []
    runs.append(way("compiled", optimizer.optimize(module), arguments, profile))
    for left, names in zip(ablated, left_out, strict=True):
        title = f"without {left.replace(',', ', ')}"
        try:
            result = Log([Verify()]).run(without(whole, names), module)
            runs.append(way(title, result, arguments, profile))
        except HloError as error:
            # Later passes, or the emitter, may rely on its rewrites.
            runs.append(ModeRun(title, refused=error.message))
    return runs


def way(
    title: str, module: Module, arguments: Sequence[Any], profile: Callable[..., Any]
) -> ModeRun:
    """Compile a module as it is, and run it for a moment."""
    ran = profile(prepare(module), arguments)
    rows = ran.rows()
    return ModeRun(
        title,
        ran.value,
        len(rows),
        sum(row.calls for row in rows),
        sum(row.bytes for row in rows),
        ran.seconds,
    )


def without(passes: Pipeline, names: Collection[str]) -> Pipeline:
    """A pipeline that leaves out some passes, wherever they are in it."""
    return replace(passes, passes=_without(passes.passes, names))


def _without(passes: Sequence[Pass], names: Collection[str]) -> tuple[Pass, ...]:
    passes_left: list[Pass] = []
    for pass_ in passes:
        if isinstance(pass_, Pipeline | Fixpoint) and pass_.name not in names:
            passes_left.append(replace(pass_, passes=_without(pass_.passes, names)))
        elif pass_.name not in names:
            passes_left.append(pass_)
    return tuple(passes_left)


def table(runs: Sequence[ModeRun]) -> Table:
    """A row for each way, its time also beside that of the compiled module."""
    base = next(run for run in runs if run.title == "compiled").seconds
    rows_table = table_of(("",), ("kernels", "launches", "bytes", "time", "of compiled"))
    for run in runs:
        if run.refused:
            rows_table.add_row(run.title, "-", "-", "-", "-", "-")
            continue
        rows_table.add_row(
            run.title,
            str(run.kernels),
            str(run.launches),
            spelled_bytes(run.bytes),
            duration(run.seconds),
            f"{run.seconds / max(base, 1e-9):.2f}",
        )
    refused = [f"{run.title}: {run.refused}" for run in runs if run.refused]
    rows_table.caption = "\n".join(refused) or None
    return rows_table
