"""Finds kernels that are slower than they need be, without being told where to look.

python -m benchmarks.sweep [--only WORDS] [--texts FILE ...] [--worst N]

Each kernel of each module (those of `benchmarks.compiled`, and texts of your own) is timed on all
threads and on one. Listed are those that take more than a twentieth of their module's time and

- are slower on all threads than on one;
- reach less than 15 % of the roofline: see `emit_c.executable.profile`; a transcendental operation
  counts as ten here;
- have a loop that is marked for vector lanes, but that gcc does not vectorize, by its own report
  (other compilers are not asked);

and modules that are slower than the same module emitted plain. The worst come first: those that
lose the largest share of their module's time.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import emit_c
import hlo
import optimizer
from benchmarks.compiled import Work, kernel_works, model_works, program_works
from benchmarks.measure import both_clocks, rounds_for, spell_seconds, table
from emit_c.executable.places import place
from emit_c.executable.profile import Profile, Row, profile
from emit_c.executable.toolchain import MEANING, OPTIMIZED, toolchain
from hlo.support.compiler import is_gcc
from optimizer.dynamic_padder.boundary import static_form

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hlo.instruction import Module

# Of a module's time, and of the roofline.
SHARE, ROOFLINE = 0.05, 0.15
# How many times as long on all threads as on one; noise makes less.
SLOWER = 1.15
# Operations of `exp` and its like, about.
TRANSCENDENTAL = 10
# Kernels that are done in less have nothing to share or to fill vectors with.
LEAST_SECONDS = 2e-6


class Finding(NamedTuple):
    """A kernel, or a whole module, that is slower than it need be.

    Attributes
    ----------
    lost : seconds of a run of the module that could be saved, about.
    share : these, of the module's time.
    """

    module: str
    kernel: str
    why: str
    seconds: float
    lost: float
    share: float


def sweep(works: Iterator[Work]) -> Iterator[Finding]:
    """What is slow in some modules, as they come."""
    for work in works:
        try:
            found = list(findings(work))
        except Exception as error:  # a sweep goes on with the next module, and says so
            print(f"{work.name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
            continue
        for each in found:
            print(f"{each.module}: {each.kernel or 'all'}: {each.why}", flush=True)
        yield from found


def findings(work: Work) -> Iterator[Finding]:
    """What is slow in one module."""
    module = static_form(optimizer.optimize(hlo.parse(work.text), target="cpu"))
    many = profile(module, work.arguments)
    threads = emit_c.set_threads(1)
    try:
        one = {_kernel(row): row for row in profile(module, work.arguments).rows()}
    finally:
        emit_c.set_threads(threads)
    whole = sum(row.seconds for row in many.rows())
    scalar = scalar_loops(emit_c.emit(module).source)
    for row in many.rows():
        if row.seconds < SHARE * whole or row.seconds < LEAST_SECONDS * row.calls:
            continue
        for why, lost in _reasons(many, row, one.get(_kernel(row)), scalar):
            yield Finding(work.name, _kernel(row), why, row.seconds, lost, lost / whole)
    yield from _slower_than_plain(work, module)


def _kernel(row: Row) -> str:
    return row.sites[0].kernel


def _reasons(
    found: Profile, row: Row, alone: Row | None, scalar: dict[str, list[int]]
) -> Iterator[tuple[str, float]]:
    """Why a kernel is listed, and the seconds that it loses."""
    if alone is not None and row.seconds > SLOWER * alone.seconds:
        times = row.seconds / alone.seconds
        yield f"{times:.2f} times as long on all threads as on one", row.seconds - alone.seconds
    line = found.roofline
    hard = sum(s.transcendentals for s in row.sites) / len(row.sites) * row.calls
    least = max(
        row.bytes / line.bytes_per_second,
        (row.flops + hard * TRANSCENDENTAL) / line.flops_per_second,
    )
    if least < ROOFLINE * row.seconds:
        yield f"{least / row.seconds:.0%} of the roofline", row.seconds - least / ROOFLINE
    if lines := scalar.get(_kernel(row)):
        yield f"not in lanes: line {', '.join(map(str, lines[:4]))}", row.seconds / 2


def scalar_loops(source: str) -> dict[str, list[int]]:
    """The lines of loops that are meant for lanes but run in none, by the kernel; gcc tells."""
    tools = toolchain()
    if not is_gcc(tools.command):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "module.c")
        file.write_text(source)
        command = [*tools.command, *MEANING, *OPTIMIZED, "-w", "-fopt-info-vec-optimized"]
        told = subprocess.run(
            [*command, "-c", "-o", "/dev/null", str(file)],
            capture_output=True, text=True, check=True,
        ).stderr  # fmt: skip
    done = {int(n) for n in re.findall(r"module\.c:(\d+):\d+: optimized: loop vectorized", told)}
    lines, found = source.split("\n"), dict[str, list[int]]()
    for number, line in enumerate(lines, 1):
        if line.strip().startswith("#pragma omp simd"):
            # gcc names a line of the loop, often the first one inside.
            end = lines.index(f"{line.partition('#')[0]}}}", number)
            if done.isdisjoint(range(number, end + 2)):
                where = place(source, number).function
                kernel = re.sub(r"_(part|iterations)(?=_kernel)", "", where)
                found.setdefault(kernel, []).append(number)
    return found


def _slower_than_plain(work: Work, module: Module) -> Iterator[Finding]:
    """The module itself, if loops as one would write them by hand are faster."""
    made = {
        "ours": emit_c.compile(module, optimize=False),
        "plain": emit_c.compile(module, optimize=False, plain=True),
    }
    runs = {name: partial(run, *work.arguments) for name, run in made.items()}
    fewest = {name: min(_timed(run) for _ in range(2)) for name, run in runs.items()}
    if fewest["plain"] > 2 * fewest["ours"]:
        return  # no noise makes up for that
    rounds = rounds_for(lambda: [run() for run in runs.values()], 0.2)
    times = both_clocks(runs, rounds)
    ours, plain = times["ours"].wall, times["plain"].wall
    if ours > SLOWER * plain:
        why = f"{ours / plain:.2f} times as long as plain loops"
        yield Finding(work.name, "", why, ours, ours - plain, 1 - plain / ours)


def _timed(run: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def all_works(texts: Sequence[str]) -> Iterator[Work]:
    """The modules of `benchmarks.compiled`."""
    yield from kernel_works()
    yield from program_works()
    yield from model_works(texts)


def main() -> None:
    """Sweep, and print the worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORDS", help="modules whose name holds them")
    parser.add_argument("--texts", nargs="+", default=[], metavar="FILE", help="HLO of your own")
    parser.add_argument("--worst", type=int, default=30, metavar="N", help="rows to print")
    options = parser.parse_args()
    works = (work for work in all_works(options.texts) if options.only in work.name)
    found = sorted(sweep(works), key=lambda each: -each.share)
    rows = [
        (
            f.module,
            f.kernel or "the whole module",
            f.why,
            spell_seconds(f.seconds),
            f"{f.share:.0%}",
        )
        for f in found[: options.worst]
    ]
    print(f"\n{len(found)} findings; the worst:\n")
    print(table(("module", "kernel", "why", "time", "lost"), rows))


if __name__ == "__main__":
    main()
