"""Copies between an array of the processor and a GPU, through page-locked memory.

The GPU copies by itself only from and to memory whose pages stay where they are. So an array is
copied to such memory, a piece after the other, and from there while the next piece is copied.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

# Bytes of a piece.
PIECE = 4 << 20
# Pieces whose copies are under way at once.
MOST_PIECES = 8


class Staging:
    """Page-locked memory, in use until events say that its copies have ended.

    Parameters
    ----------
    driver : PyCUDA's.
    pool : of page-locked memory.
    """

    def __init__(self, driver: Any, pool: Any) -> None:
        self._driver, self._pool = driver, pool
        # Objects that may not be given up before their events.
        self._busy: deque[tuple[Any, Any]] = deque()

    def write(self, address: int, flat: NDArray[np.uint8], stream: Any) -> None:
        """Copy bytes to the GPU, in the order of a stream; the array is free at once."""
        for start in _pieces(flat):
            part = flat[start : start + PIECE]
            staged = self._pool.allocate((part.size,), np.uint8)
            staged[...] = part
            self._driver.memcpy_htod_async(address + start, staged, stream)
            self.keep(staged, stream)

    def read(self, address: int, flat: NDArray[np.uint8], stream: Any) -> None:
        """Copy bytes from the GPU, in the order of a stream, and wait for them."""
        reads: deque[Callable[[], None]] = deque()
        for start in _pieces(flat):
            if len(reads) == MOST_PIECES:
                reads.popleft()()
            reads.append(self.ask(address + start, flat[start : start + PIECE], stream))
        while reads:
            reads.popleft()()

    def ask(self, address: int, flat: NDArray[np.uint8], stream: Any) -> Callable[[], None]:
        """Begin to copy a piece from the GPU, and return a function that waits for it to arrive.

        The copy runs in the order of a stream.
        """
        staged = self._pool.allocate((flat.size,), np.uint8)
        self._driver.memcpy_dtoh_async(staged, address, stream)
        event = self._event(stream)

        def take() -> None:
            event.synchronize()
            flat[...] = staged

        return take

    def keep(self, thing: Any, stream: Any) -> None:
        """Keep something alive until all the work that a stream was given has ended."""
        while self._busy and (len(self._busy) > MOST_PIECES or self._busy[0][1].query()):
            self._busy.popleft()[1].synchronize()
        self._busy.append((thing, self._event(stream)))

    def forget(self) -> None:
        """Give up all that was kept; nothing may be on its way."""
        self._busy.clear()

    def _event(self, stream: Any) -> Any:
        flags = self._driver.event_flags.DISABLE_TIMING
        return self._driver.Event(flags).record(stream)


def _pieces(flat: NDArray[np.uint8]) -> Iterator[int]:
    return iter(range(0, flat.size, PIECE))
