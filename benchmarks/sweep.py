"""Finds kernels that are slower than they need be, without being told where to look.

python -m benchmarks.sweep [--only WORDS] [--texts FILE ...] [--worst N]

Each kernel of each module (those of `benchmarks.compiled`, and texts of your own) is timed on all
threads and on one. Listed are those that take more than a twentieth of their module's time and

- are slower on all threads than on one;
- reach less than 15 % of the roofline: see `benchmarks.limits`;
- have a loop that is marked for vector lanes, but that gcc does not vectorize, by its own report
  (other compilers are not asked);

and modules that are slower than the same module emitted plain. The worst come first: those that
lose the largest share of their module's time; and after them, those that a limit explains which no
kernel of theirs could break, measured or counted for each (`benchmarks.limits`).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import emit_c
import hlo
import optimizer
from benchmarks import limits
from benchmarks.compiled import Work, kernel_works, model_works, program_works
from benchmarks.measure import both_clocks, rounds_for, spell_seconds, table, timed
from benchmarks.processor import about_processor
from codegen.file_text import line_at
from emit_c.executable.profile import Profile, ProfileRow, profile
from emit_c.executable.toolchain import MEANING, OPTIMIZED, toolchain
from hlo.support.compiler import is_gcc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.limits import Loop
    from hlo.instruction import Module

# Of a module's time, and of the roofline.
SHARE, ROOFLINE = 0.05, 0.15
# How many times as long on all threads as on one; noise makes less.
SLOWER = 1.15
# Kernels that are done in less have nothing to share or to fill vectors with.
LEAST_SECONDS = 2e-6


class Finding(NamedTuple):
    """A kernel, or a whole module, that is slower than it need be.

    Attributes
    ----------
    lost : seconds of a run of the module that could be saved, about.
    share : these, of the module's time.
    limit : by which this is explained; empty where it is not.
    """

    module: str
    kernel: str
    why: str
    seconds: float
    lost: float
    share: float
    limit: str = ""


def sweep(works: Iterator[Work]) -> Iterator[Finding]:
    """Yield the slow kernels of some modules."""
    for work in works:
        try:
            found = list(findings(work))
        except Exception as error:  # a sweep goes on with the next module, and says so
            print(f"{work.name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
            continue
        for each in found:
            print(f"{each.module}: {each.kernel or 'all'}: {each.why} {each.limit}", flush=True)
        yield from found


def findings(work: Work) -> Iterator[Finding]:
    """The slow kernels of one module."""
    module = optimizer.optimize(hlo.parse(work.text), target="cpu")
    many = profile(module, work.arguments)
    threads = emit_c.set_threads(1)
    try:
        one = {_kernel(row): row for row in profile(module, work.arguments).rows()}
    finally:
        emit_c.set_threads(threads)
    whole = sum(row.seconds for row in many.rows())
    code = Code(emit_c.emit(module).source)
    for row in many.rows():
        if row.seconds < SHARE * whole or row.seconds < LEAST_SECONDS * row.calls:
            continue
        for why, lost, limit in _reasons(many, row, one.get(_kernel(row)), code):
            yield Finding(work.name, _kernel(row), why, row.seconds, lost, lost / whole, limit)
    yield from _slower_than_plain(work, module)


def _kernel(row: ProfileRow) -> str:
    return row.sites[0].kernel


def _reasons(
    found: Profile, row: ProfileRow, alone: ProfileRow | None, code: Code
) -> Iterator[tuple[str, float, str]]:
    """Why a kernel is listed, the seconds that it loses, and the limit that explains it."""
    name = _kernel(row)
    threads = name in code.parallel
    if alone is not None and row.seconds > SLOWER * alone.seconds:
        why = f"{row.seconds / alone.seconds:.2f} times as long on all threads as on one"
        limit = limits.limit_of_threads(row, alone, threads=threads)
        yield why, row.seconds - alone.seconds, limit
    least = limits.least_seconds(row, found.roofline, threads=threads)
    if least < ROOFLINE * row.seconds:
        why = f"{least / row.seconds:.0%} of the roofline"
        yield why, row.seconds - least / ROOFLINE, limits.limit_of_rate(row)
    if loops := code.scalar.get(name):
        lines = ", ".join(str(loop.line) for loop in loops[:4])
        limit = limits.limit_of_lanes(row, loops, code.in_lanes[name])
        yield f"not in lanes: line {lines}", row.seconds / 2, limit


class Code:
    """The C of a module's kernels, and gcc's report on it.

    Attributes
    ----------
    scalar : the loops that are meant for lanes but run in none, by the kernel; none if the compiler
        is not gcc.
    in_lanes : how many run in lanes.
    parallel : kernels that threads share.
    """

    def __init__(self, source: str) -> None:
        self.scalar: dict[str, list[Loop]] = {}
        self.in_lanes = Counter[str]()
        lines = source.split("\n")
        numbered = enumerate(lines, 1)
        shared = (number for number, line in numbered if "hlo_parallel(" in line)
        self.parallel = {_kernel_at(source, number) for number in shared}
        if not is_gcc(toolchain().command):
            return
        done = _vectorized(source)
        for number, line in enumerate(lines, 1):
            if line.strip().startswith("#pragma omp simd"):
                # gcc names a line of the loop, often the first one inside.
                end = lines.index(f"{line.partition('#')[0]}}}", number)
                kernel = _kernel_at(source, number)
                if done.isdisjoint(range(number, end + 2)):
                    self.scalar.setdefault(kernel, []).append(limits.loop_at(lines, number))
                else:
                    self.in_lanes[kernel] += 1


def _kernel_at(source: str, number: int) -> str:
    """The kernel to which a line belongs, perhaps as part of a function of its own."""
    return re.sub(
        r"_(part|turns|iterations)(?=(_\d+)?_kernel)", "", line_at(source, number).function
    )


def _vectorized(source: str) -> set[int]:
    """The lines of which gcc tells that they are a loop in lanes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "module.c")
        file.write_text(source)
        command = [*toolchain().command, *MEANING, *OPTIMIZED, "-w", "-fopt-info-vec-optimized"]
        told = subprocess.run(
            [*command, "-c", "-o", "/dev/null", str(file)],
            capture_output=True, text=True, check=True,
        ).stderr  # fmt: skip
    return {int(n) for n in re.findall(r"module\.c:(\d+):\d+: optimized: loop vectorized", told)}


def _slower_than_plain(work: Work, module: Module) -> Iterator[Finding]:
    """The module itself, if loops as one would write them by hand are faster."""
    made = {
        "ours": emit_c.compile(module, optimize=False),
        "plain": emit_c.compile(module, optimize=False, plain=True),
    }
    runs = {name: partial(run, *work.arguments) for name, run in made.items()}
    fewest = {name: min(timed(run) for _ in range(2)) for name, run in runs.items()}
    if fewest["plain"] > 2 * fewest["ours"]:
        return  # no noise makes up for that
    rounds = rounds_for(lambda: [run() for run in runs.values()], 0.2)
    times = both_clocks(runs, rounds)
    ours, plain = times["ours"].wall, times["plain"].wall
    if ours > SLOWER * plain:
        why = f"{ours / plain:.2f} times as long as plain loops"
        yield Finding(work.name, "", why, ours, ours - plain, 1 - plain / ours)


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
    print(about_processor())
    found = sorted(sweep(works), key=lambda each: -each.share)
    print(about_processor())
    open_, explained = ([f for f in found if bool(f.limit) is known] for known in (False, True))
    print(f"\n{len(open_)} findings; the worst:\n")
    print(_listed(open_[: options.worst]))
    print(f"\n{len(explained)} explained by a limit; the worst:\n")
    print(_listed(explained[: options.worst]))


def _listed(found: Sequence[Finding]) -> str:
    rows = [
        (
            f.module,
            f.kernel or "the whole module",
            f.why,
            spell_seconds(f.seconds),
            f"{f.share:.0%}",
            f.limit,
        )
        for f in found
    ]
    return table(("module", "kernel", "why", "time", "lost", "limit"), rows)


if __name__ == "__main__":
    main()
