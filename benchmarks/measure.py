"""Measuring side by side: everything in turn, in one process, so that noise falls on all alike."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence


def interleaved(
    contenders: Mapping[str, Callable[[], Any]], rounds: int, clock: Callable[[], float]
) -> dict[str, float]:
    """The median seconds of each contender, over rounds in which each runs once.

    Parameters
    ----------
    clock : `time.perf_counter` for what one waits, `time.process_time` for the CPU time of all
        threads, which noise disturbs less.
    """
    for run in contenders.values():
        run()  # compiles, fills caches, touches memory
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            start = clock()
            run()
            times[name].append(clock() - start)
    return {name: median(taken) for name, taken in times.items()}


class Times(NamedTuple):
    """Medians, in seconds: what one waits, and the CPU time of all threads."""

    wall: float
    cpu: float


def timed(run: Callable[[], Any]) -> float:
    """The seconds that one call takes."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def both_clocks(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, Times]:
    """The times of each contender, over rounds in which each runs once.

    What one run gave is dropped before the next begins, as a caller in a loop does.
    """
    for run in contenders.values():
        run()
    taken: dict[str, list[Times]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            taken[name].append(Times(time.perf_counter() - wall, time.process_time() - cpu))
    return {
        name: Times(median(t.wall for t in times), median(t.cpu for t in times))
        for name, times in taken.items()
    }


@contextmanager
def busy_processor() -> Generator[None]:
    """Another process keeps a processor busy meanwhile, whichever the system gives it."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def geometric_mean(numbers: Sequence[float]) -> float:
    """The mean of ratios."""
    return math.exp(sum(math.log(n) for n in numbers) / len(numbers))


def rounds_for(run: Callable[[], Any], seconds: float, most: int = 100) -> int:
    """How often something can run in some seconds, at least 3 times."""
    start = time.perf_counter()
    run()
    return max(3, min(most, int(seconds / (time.perf_counter() - start))))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows in aligned columns, the first to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(
            w.ljust(n) if i == 0 else w.rjust(n)
            for i, (w, n) in enumerate(zip(row, widths, strict=True))
        )
        for row in (head, *rows)
    ]
    return "\n".join(lines)


def spell_seconds(seconds: float) -> str:
    """Seconds with the unit that suits them."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
