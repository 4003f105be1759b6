"""`hlo run --profile`, `--sanitize`, `--checked`: what a module took, and what it did wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import emit_cuda
import optimizer
from emit_c.executable.profile import profile
from emit_c.executable.sanitize import sanitize
from emit_cuda.host.device import HostDevice
from emit_cuda.profile import profile as profile_launches
from hlo.errors.error import HloError
from hlo.wording import counted
from hlo_tools.console import console, print_table, table_of
from hlo_tools.files import write_text
from hlo_tools.show import duration, spelled_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from emit_c.executable.profile import Profile, ProfileRow
    from hlo.instruction import Module

# Rows that are shown one by one.
MOST_ROWS = 40
_WORDS = ("kernel", "kind", "computes", "bound by")
_NUMBERS = ("calls", "time", "at least", "bytes")
_COLUMNS = ("kernel", "computes", "calls", "time", "of all", "bytes", "GB/s", "GFLOP/s", "roofline")


def run_profiled(
    module: Module, inputs: Sequence[Sequence[Any]], trace: str | None = None
) -> list[Any]:
    """Run a module on each device's inputs as C, and print its kernels' times.

    Parameters
    ----------
    trace : a file for the Chrome trace of the last device.
    """
    optimized = optimizer.optimize(module, target="cpu")
    values: list[Any] = []
    for arguments in inputs:
        found = profile(optimized, arguments)
        values.append(found.value)
        console().print(summary(found))
        print_table(table(found))
        if trace:
            write_text(trace, found.trace())
    return values


def run_profiled_on(
    name: Literal["gpu", "host"],
    module: Module,
    inputs: Sequence[Sequence[Any]],
    trace: str | None = None,
) -> list[Any]:
    """Run a module's CUDA kernels, and print their times here, and the least times on a GPU.

    Parameters
    ----------
    name : where they run: on a GPU, or on the processor.
    trace : a file for the Chrome trace, measured and simulated, of the last device.
    """
    device, optimized = emit_cuda.device_named(name), emit_cuda.optimized(module)
    values: list[Any] = []
    for arguments in inputs:
        found = profile_launches(optimized, arguments, device)
        values.append(found.value)
        rows, where = found.rows(), "a GPU" if name == "gpu" else "the processor"
        seconds, least = sum(r.seconds for r in rows), sum(r.least_seconds for r in rows)
        told = f"{counted(len(found.times), 'kernel call')}, {duration(seconds)} on {where}"
        print(f"{told}; at least {duration(least)} on {found.gpu.name}")
        shown = table_of(_WORDS, _NUMBERS)
        for row in rows[:MOST_ROWS]:
            shown.add_row(
                *(row.kernel, row.kind, f"%{row.about}", row.bound, str(row.calls)),
                *(duration(row.seconds), duration(row.least_seconds), spelled_bytes(row.bytes)),
            )
        print_table(shown)
        if trace:
            write_text(trace, found.trace())
    return values


def run_checked(module: Module, inputs: Sequence[Sequence[Any]], *, seed: int = 0) -> list[Any]:
    """Run a module's CUDA kernels on the processor, and watch every access to memory.

    Parameters
    ----------
    seed : of the order in which threads and blocks run; 0 leaves them in order.

    Raises
    ------
    HloError
        HLO193 if a kernel makes a mistake.
    """
    executable = emit_cuda.compile(module, HostDevice(checked=True, seed=seed))
    return [executable(*arguments) for arguments in inputs]


def run_without_libraries(module: Module, inputs: Sequence[Sequence[Any]]) -> list[Any]:
    """Run a module's kernels on a GPU, and no library's."""
    executable = emit_cuda.compile(module, libraries=False)
    return [executable(*arguments) for arguments in inputs]


def run_sanitized(module: Module, inputs: Sequence[Sequence[Any]]) -> list[Any]:
    """Run a module on each device's inputs, watched by sanitizers.

    Raises
    ------
    HloError
        HLO184 if they find something; the notes say in which kernels.
    """
    optimized = optimizer.optimize(module, target="cpu")
    values: list[Any] = []
    for arguments in inputs:
        report = sanitize(optimized, arguments)
        if report.findings:
            count = counted(len(report.findings), "mistake")
            notes = [str(finding) for finding in report.findings]
            raise HloError("HLO184", f"the sanitizers found {count}", notes=notes)
        values.append(report.value)
    return values


def table(found: Profile) -> Table:
    """A row for each kernel, those first that took longest."""
    rows = found.rows()
    spent = sum(row.seconds for row in rows)
    made = table_of(_COLUMNS[:2], _COLUMNS[2:])
    made.caption = "\n".join(_notes(rows))
    for row in rows[:MOST_ROWS]:
        made.add_row(*_cells(row, spent))
    return made


def summary(found: Profile) -> str:
    """The whole call in a line."""
    best = found.roofline
    spent = sum(row.seconds for row in found.rows())
    lost = f", {counted(found.lost, 'call')} not recorded" if found.lost else ""
    return (
        f"{duration(found.seconds)}, {duration(spent)} of it in kernels{lost}; this machine copies "
        f"{best.bytes_per_second / 1e9:.1f} GB/s and computes "
        f"{best.flops_per_second / 1e9:.0f} GFLOP/s"
    )


def _notes(rows: Sequence[ProfileRow]) -> Iterator[str]:
    rest = rows[MOST_ROWS:]
    if rest:
        spent = duration(sum(row.seconds for row in rest))
        yield f"{counted(len(rest), 'more kernel')}, together {spent}"
    yield "roofline: the least time that memory and arithmetic allow, of the time that was taken;"
    yield "over 100% where data lay in caches, which are faster than memory"


def _cells(row: ProfileRow, spent: float) -> list[str]:
    seconds = max(row.seconds, 1e-9)
    instr = row.sites[0].instruction
    names = f"{instr.opcode} {instr.shape.text_without_layout}"
    return [
        row.sites[0].kernel,
        names if len(row.sites) == 1 else f"{names}, {len(row.sites)} times in the module",
        str(row.calls),
        duration(row.seconds),
        f"{row.seconds / max(spent, 1e-9):.0%}",
        spelled_bytes(row.bytes),
        f"{row.bytes / seconds / 1e9:.1f}",
        f"{row.flops / seconds / 1e9:.1f}",
        f"{row.share:.0%}",
    ]
