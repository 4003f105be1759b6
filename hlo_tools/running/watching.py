"""`hlo run --profile` and `--sanitize`: times of kernels, and memory errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emit_c.executable.profile import Profile
from hlo.errors.error import HloError
from hlo.wording import counted
from hlo_tools.console import console, print_table, table_of
from hlo_tools.options.files import write_text
from hlo_tools.values.show import duration, spelled_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from emit_c.executable.profile import ProfileRow
    from emit_c.executable.sanitize import SanitizerReport
    from emit_cuda.profile import CudaProfile
    from hlo.instruction import Module

# Rows that are shown one by one.
MOST_ROWS = 40
_WORDS = ("kernel", "kind", "computes", "bound by")
_NUMBERS = ("calls", "time", "at least", "bytes")
_COLUMNS = ("kernel", "computes", "calls", "time", "of all", "bytes", "GB/s", "GFLOP/s", "roofline")


def run_profiled(
    profile: Callable[..., Profile | CudaProfile],
    module: Module,
    inputs: Sequence[Sequence[Any]],
    trace: str | None = None,
) -> list[Any]:
    """Run a module on each device's inputs, and print its kernels' times.

    Parameters
    ----------
    profile : runs a module, and measures it.
    trace : a file for the Chrome trace of the last device.
    """
    values: list[Any] = []
    for arguments in inputs:
        profiled = profile(module, arguments)
        values.append(profiled.value)
        if isinstance(profiled, Profile):
            console().print(summary(profiled))
            console().print(profiled.threads)
            print_table(table(profiled))
        else:
            show_launches(profiled)
        if trace:
            write_text(trace, profiled.trace())
    return values


def show_launches(profiled: CudaProfile) -> None:
    """Print the times of CUDA kernels here, and the least times on a GPU."""
    rows, where = profiled.rows(), "a GPU" if profiled.on_gpu else "the processor"
    seconds, least = sum(r.seconds for r in rows), sum(r.least_seconds for r in rows)
    calls = f"{counted(len(profiled.times), 'kernel call')}, {duration(seconds)} on {where}"
    print(f"{calls}; at least {duration(least)} on {profiled.gpu.name}")
    shown = table_of(_WORDS, _NUMBERS)
    for row in rows[:MOST_ROWS]:
        shown.add_row(
            *(row.kernel, row.kind, f"%{row.about}", row.bound, str(row.calls)),
            *(duration(row.seconds), duration(row.least_seconds), spelled_bytes(row.bytes)),
        )
    print_table(shown)


def run_sanitized(
    sanitize: Callable[..., SanitizerReport], module: Module, inputs: Sequence[Sequence[Any]]
) -> list[Any]:
    """Run a module on each device's inputs, watched by sanitizers.

    Raises
    ------
    HloError
        HLO184 if they find something; the notes say in which kernels.
    """
    values: list[Any] = []
    for arguments in inputs:
        report = sanitize(module, arguments)
        if report.findings:
            count = counted(len(report.findings), "mistake")
            notes = [str(finding) for finding in report.findings]
            raise HloError("HLO184", f"the sanitizers found {count}", notes=notes)
        values.append(report.value)
    return values


def table(profiled: Profile) -> Table:
    """A row for each kernel, those first that took longest."""
    rows = profiled.rows()
    spent = sum(row.seconds for row in rows)
    rows_table = table_of(_COLUMNS[:2], _COLUMNS[2:])
    rows_table.caption = "\n".join((*_notes(rows), *_subnormal(profiled)))
    for row in rows[:MOST_ROWS]:
        rows_table.add_row(*_cells(row, spent))
    return rows_table


def summary(profiled: Profile) -> str:
    """The whole call in a line."""
    best = profiled.roofline
    spent = sum(row.seconds for row in profiled.rows())
    lost = f", {counted(profiled.lost, 'call')} not recorded" if profiled.lost else ""
    return (
        f"{duration(profiled.seconds)}, {duration(spent)} of it in kernels{lost}; "
        f"this machine copies {best.bytes_per_second / 1e9:.1f} GB/s and computes "
        f"{best.flops_per_second / 1e9:.0f} GFLOP/s"
    )


def _notes(rows: Sequence[ProfileRow]) -> Iterator[str]:
    rest = rows[MOST_ROWS:]
    if rest:
        spent = duration(sum(row.seconds for row in rest))
        yield f"{counted(len(rest), 'more kernel')}, together {spent}"
    yield "roofline: the least time that memory and arithmetic allow, of the time that was taken;"
    yield "over 100% where data lay in caches, which are faster than memory"


def _subnormal(profiled: Profile) -> Iterator[str]:
    for kernel, ratio in profiled.slowed.items():
        yield f"{kernel}: subnormal numbers make it {ratio:.1f} times as slow (--subnormals flush)"


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
