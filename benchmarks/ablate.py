"""What each pass over kernels of C earns: how many kernels it changes, and the time without it.

python -m benchmarks.ablate [--passes NAME ...] [--texts FILE ...] [--only PROGRAM ...] [--time]
python -m benchmarks.ablate --numbers MODULE:NAME ... [--only PROGRAM ...]

The programs, kernels and forms of `benchmarks.compiled`, and HLO texts of your own, which nothing
was tuned for. A pass is left out of all kernels of a module; the results must be the same but for
rounding. Times are medians of runs in turns, of those programs alone whose kernels the pass
changes, as one waits and as CPUs count; a ratio over 1 says that the pass makes them faster. A pass
stays while that gives 1.3 on a program here, or 1.05 on all of them together.

`--numbers` does the same for a number that decides, such as
`emit_c.kernels.unswitch_loops:WORTH_A_BRANCH`, which is halved and doubled: a row for each program
whose C that changes, and the CPU time in which all programs are optimized and written as C.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

import emit_c
import hlo
from benchmarks.compiled import Work, form_works, kernel_works, program_works
from benchmarks.measure import Times, both_clocks, geometric_mean, rounds_for, table
from emit_c.kernels import passes
from hlo.errors.error import HloError
from optimizer import optimize
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from contextlib import AbstractContextManager

    from codegen.statements import Statement
    from emit_c.kernels.kernel import CKernel

HEAD = ("pass", "kernels", "of programs", "kernels of texts")
# To spend on a program; there are 5 to 100 runs.
SECONDS = 1.0


class Changed(NamedTuple):
    """The kernels of a program that a pass changes."""

    work: Work
    kernels: int


def main() -> None:
    """Print a row a pass: what it changes, and, if asked for, what that earns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passes", nargs="+", metavar="NAME", help="these passes only")
    parser.add_argument("--texts", nargs="+", default=[], type=Path, metavar="FILE")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these programs only")
    parser.add_argument("--time", action="store_true", help="measure the programs without the pass")
    parser.add_argument("--numbers", nargs="+", metavar="MODULE:NAME", help="numbers, not passes")
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    names = given.passes or [each.name for each in passes.PASSES]
    works = [
        work
        for work in chain(program_works(), kernel_works(), form_works())
        if not given.only or work.name in given.only
    ]
    if given.numbers:
        for name in given.numbers:
            number_table(name, works)
        return
    changes = found_in(works)
    apart = found_in([Work(str(path), path.read_text(), ()) for path in given.texts])
    print(table(HEAD, [_counts(name, changes, apart) for name in names]), "\n", flush=True)
    for name in names if given.time else ():
        ratios: list[Times] = []
        for each in changes.get(name, ()):
            ratios.append(ratio(each.work, without(name)))
            _print_ratio(name, each.work.name, ratios[-1])
        if ratios:
            mean = (geometric_mean(clock) for clock in zip(*ratios, strict=True))
            _print_ratio(name, "geometric mean", Times(*mean))
            print()


def _print_ratio(name: str, program: str, times: Times) -> None:
    print(f"{name:<28}{program:<40}{times.wall:>6.2f}{times.cpu:>6.2f}", flush=True)


def _counts(
    name: str, changes: dict[str, list[Changed]], apart: dict[str, list[Changed]]
) -> list[str]:
    here, there = changes.get(name, []), apart.get(name, [])
    kernels = sum(each.kernels for each in here)
    return [name, str(kernels), str(len(here)), str(sum(each.kernels for each in there))]


def found_in(works: Sequence[Work]) -> dict[str, list[Changed]]:
    """By the names of passes, the programs of which they change kernels."""
    found: dict[str, list[Changed]] = {}
    for work in works:
        try:
            counts = kernels_changed(work.text)
        except HloError:  # not all texts can be emitted
            continue
        for name, count in counts.items():
            found.setdefault(name, []).append(Changed(work, count))
    return found


def kernels_changed(text: str) -> dict[str, int]:
    """By the names of passes, the number of kernels of a module that they change."""
    last: dict[str, Sequence[Statement]] = {}
    found: dict[str, int] = {}

    def watch(kernel: str, pass_: str, statements: Sequence[Statement], _: CKernel) -> None:
        if pass_ and tuple(statements) != tuple(last[kernel]):
            found[pass_] = found.get(pass_, 0) + 1
        last[kernel] = statements

    emit_c.emit(prepare(optimize(hlo.parse(text), "cpu")), watch=watch)
    return found


def number_table(name: str, works: Sequence[Work]) -> None:
    """Print what a number decides, if it is halved and if it is doubled."""
    now, seconds = _sources(works)
    for factor in (0.5, 2):
        with replaced(name, factor):
            other, longer = _sources(works)
        title = f"{name.rpartition(':')[2]} * {factor:g}"
        ratios: list[Times] = []
        for work in (each for each in works if now.get(each.name) != other.get(each.name)):
            ratios.append(ratio(work, replaced(name, factor)))
            _print_ratio(title, work.name, ratios[-1])
        if ratios:
            mean = (geometric_mean(clock) for clock in zip(*ratios, strict=True))
            _print_ratio(title, "geometric mean", Times(*mean))
        print(f"{title}: to C in {longer:.2f} s, {longer / seconds:.3f} of now", flush=True)


def _sources(works: Sequence[Work]) -> tuple[dict[str, str], float]:
    """The C of each program, by name, and the CPU seconds that it takes to make it."""
    made: dict[str, str] = {}
    began = time.process_time()
    for work in works:
        with suppress(HloError):  # not all texts can be emitted
            module = prepare(optimize(hlo.parse(work.text), "cpu"))
            made[work.name] = emit_c.emit(module).source
    return made, time.process_time() - began


@contextmanager
def replaced(name: str, factor: float) -> Generator[None]:
    """Multiply a number while the block runs, wherever it was imported."""
    module, _, constant = name.partition(":")
    value = getattr(import_module(module), constant)
    other = type(value)(value * factor)
    holders = [each for each in tuple(sys.modules.values()) if vars(each).get(constant) is value]
    for each in holders:
        setattr(each, constant, other)
    try:
        yield
    finally:
        for each in holders:
            setattr(each, constant, value)


def ratio(work: Work, otherwise: AbstractContextManager[None]) -> Times:
    """The times of a program that is compiled otherwise, such as without a pass, over those now.

    Raises
    ------
    AssertionError
        if the results differ by more than rounding.
    """
    module = hlo.parse(work.text)
    with_it = emit_c.compile(module, remember=False)
    with otherwise:
        without_it = emit_c.compile(module, remember=False)
    contenders = {
        "with": lambda: with_it(*work.arguments),
        "without": lambda: without_it(*work.arguments),
    }
    for one, other in zip(*(jax.tree.leaves(run()) for run in contenders.values()), strict=True):
        _expect_alike(one, other)
    both = rounds_for(lambda: [run() for run in contenders.values()], SECONDS)
    times = both_clocks(contenders, max(both, 5))
    longer, shorter = times["without"], times["with"]
    return Times(longer.wall / shorter.wall, longer.cpu / shorter.cpu)


def _expect_alike(one: Any, other: Any) -> None:
    pair = [np.asarray(each, np.result_type(each.dtype, np.float32)) for each in (one, other)]
    scale = np.abs(pair[0], where=np.isfinite(pair[0]), out=np.zeros(pair[0].shape)).max(initial=0)
    np.testing.assert_allclose(*pair, rtol=1e-2, atol=1e-2 * float(scale))


@contextmanager
def without(name: str) -> Generator[None]:
    """Leave a pass out while the block runs."""
    all_of_them = passes.PASSES
    passes.PASSES = tuple(each for each in all_of_them if each.name != name)
    try:
        yield
    finally:
        passes.PASSES = all_of_them


if __name__ == "__main__":
    main()
