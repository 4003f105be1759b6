"""Processes that try cases, each watched: one that dies or hangs has found a mistake.

A case is a number; whatever it is made of comes from the run's seed and that number, so that a
process that is gone leaves its case behind. The counts lie in shared memory.
"""

import ctypes
import faulthandler
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# Steps have limits of their own; what hangs longer does not listen to them.
PATIENCE = 45  # seconds
MOST_AT_ONCE = 64
COUNTS = (
    *("texts", "parsed and verified", "run three ways", "of them donating", "refused to run"),
    *("endless", "large", "unsupported in C", "many devices", "no order", "compilations"),
    *("run by XLA", "not asked of XLA", "refused by XLA", "crashes of XLA"),
    *("crashes", "hangs", "foreign exceptions", "differences", "other mistakes"),
)
_CONTEXT = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Found:
    """A mistake, as a process tells of it."""

    kind: str
    place: str
    message: str
    text: str
    seed: str


class Counts:
    """Numbers by name that several processes add to; each has its own row."""

    def __init__(self, rows: int) -> None:
        self._rows = [_CONTEXT.RawArray(ctypes.c_int64, len(COUNTS)) for _ in range(rows)]
        self.row = 0

    def add(self, name: str, number: int = 1) -> None:
        """Count."""
        self._rows[self.row][COUNTS.index(name)] += number

    def total(self) -> dict[str, int]:
        """The numbers of all processes."""
        return {name: sum(row[i] for row in self._rows) for i, name in enumerate(COUNTS)}


class At:
    """In shared memory: the case that is tried, or those tried together, and since when."""

    def __init__(self) -> None:
        self._time = _CONTEXT.RawValue(ctypes.c_double)
        self._number = _CONTEXT.RawValue(ctypes.c_int64)
        self._several = _CONTEXT.RawArray(ctypes.c_int64, 2 + MOST_AT_ONCE)

    def begin(self, number: int) -> None:
        """One case begins."""
        self._number.value, self._several[0] = number, 0
        self.since()

    def begin_several(self, numbers: list[int], rest: list[int]) -> None:
        """Cases that were begun before are tried together, and others are still to be tried."""
        both = [*numbers, *rest]
        self._several[2 : 2 + len(both)] = both
        self._several[1] = len(both)
        self._several[0] = len(numbers)
        self.since()

    def since(self) -> None:
        """It is alive."""
        self._time.value = time.monotonic()

    def seconds(self) -> float:
        """How long it has been trying."""
        return time.monotonic() - self._time.value

    @property
    def number(self) -> int:
        """Of the case that was begun last."""
        return self._number.value

    @property
    def several(self) -> list[int]:
        """Those that are tried together."""
        return list(self._several[2 : 2 + self._several[0]])

    @property
    def rest(self) -> list[int]:
        """Those that are to be tried after them."""
        return (
            list(self._several[2 + self._several[0] : 2 + self._several[1]]) if self.several else []
        )

    def numbers(self) -> list[int]:
        """Those that are tried."""
        return self.several or [self.number]


# Takes its place, the distance to its next case, the counts, and whom to tell of mistakes.
Work = Callable[[At, int, Counts, Callable[[Found], None]], None]


class Worker:
    """One process, and what it says.

    Attributes
    ----------
    at : in shared memory, what it is trying, and since when.
    """

    def __init__(self, row: int, first: int, step: int, counts: Counts, work: Work) -> None:
        self.row, self.step, self.counts, self.work = row, step, counts, work
        self.late_on: list[int] = []
        self.at = At()
        self.at.begin(first)
        self.mine, self.its = _CONTEXT.Pipe(duplex=False)
        self.errors = Path(f"/tmp/fuzz-{os.getpid()}-{row}.err")
        self.start()

    def start(self) -> None:
        """Begin, or go on with the case after the last one."""
        self.at.since()
        # It is no daemon: XLA's is a process of its own, below it.
        self.process = _CONTEXT.Process(target=self._run)
        self.process.start()

    def _run(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        faulthandler.disable()
        error = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(error, 2)
        self.counts.row = self.row
        self.work(self.at, self.step, self.counts, self.its.send)

    def gone(self) -> tuple[str, str] | None:
        """Why it has ended before its time, and what it said; None if it has not."""
        late = self.at.seconds() > PATIENCE
        if self.process.is_alive() and not late:
            return None
        if late:
            self.process.kill()
        self.process.join()
        if self.process.exitcode == 0:
            return None
        said = self.errors.read_text(errors="replace")[-4000:]
        return ("hang" if late else "crash"), f"exit status {self.process.exitcode}\n{said}"

    def tries_again(self) -> bool:
        """Whether it has not hung on this very case before."""
        case = self.at.numbers()
        again, self.late_on = case != self.late_on, case
        return again

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.join()
        self.errors.unlink(missing_ok=True)


def watch(
    workers: list[Worker],
    take: Callable[[Found], None],
    lost: Callable[[list[int], str, str], None],
    tick: Callable[[], bool],
) -> None:
    """Take what processes find until `tick` says that it is enough, or all are done.

    Parameters
    ----------
    take : a mistake.
    lost : the cases on which a process died or hung, which of both, and what it said.
    """
    try:
        while tick():
            for worker in workers:
                _attend(worker, take, lost)
            if all(w.process.exitcode == 0 for w in workers):
                break
            time.sleep(0.2)
        for worker in workers:
            _hear(worker, take)
    finally:
        for worker in workers:
            worker.stop()


def _attend(
    worker: Worker,
    take: Callable[[Found], None],
    lost: Callable[[list[int], str, str], None],
) -> None:
    _hear(worker, take)
    gone = worker.gone()
    if gone is not None and gone[0] == "hang" and worker.tries_again():
        # Others may have had the processor for all that time.
        worker.start()
    elif gone is not None:
        lost(worker.at.numbers(), *gone)
        if not worker.at.several:
            worker.at.begin(worker.at.number + worker.step)
        worker.start()


def _hear(worker: Worker, take: Callable[[Found], None]) -> None:
    while _has_more(worker.mine):
        take(worker.mine.recv())


def _has_more(connection: Connection) -> Any:
    try:
        return connection.poll()
    except (EOFError, OSError):
        return False
