"""A thread that compiles programs while they are interpreted."""

from __future__ import annotations

import atexit
import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# At exit, a compiler at work is waited for so long, so that it leaves no half a file.
PATIENCE = 5.0  # seconds


class Background:
    """One thread with a queue of jobs. What still waits when the program ends is not done."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        self._ending = False
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, job: Callable[[], None]) -> None:
        """Do a job later. It must not raise an exception."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="pyhlo", daemon=True)
                self._thread.start()
        self._idle.clear()
        self._jobs.put(job)

    def wait(self, seconds: float) -> bool:
        """Wait until all is done; whether it is."""
        return self._idle.wait(seconds)

    def end(self) -> None:
        """Do no more than the job at hand."""
        self._ending = True
        if self._thread is not None and self._thread.is_alive():
            self.wait(PATIENCE)

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if not self._ending:
                job()
            if self._ending or self._jobs.empty():
                self._idle.set()


_backgrounds: list[Background] = []


def background() -> Background:
    """The thread of this process."""
    if not _backgrounds:
        _backgrounds.append(Background())
    return _backgrounds[0]


def _end() -> None:
    for one in _backgrounds:
        one.end()


atexit.register(_end)
# A child of a fork has no threads but the one that forked: its queue is never worked off.
os.register_at_fork(after_in_child=_backgrounds.clear)
