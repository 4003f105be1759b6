"""Which bytes of the arena each temporary array takes, by when it is alive.

The optimizer's buffer assignment will take this file's place; its interface is `assign`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer that is written in step `first` and read for the last time in step `last`."""

    name: str
    bytes: int
    first: int
    last: int


def assign(lifetimes: Iterable[Lifetime]) -> tuple[dict[str, int], int]:
    """Offsets in one arena, such that buffers alive together do not overlap.

    Buffers are taken in the order in which they come to life; each goes to the smallest gap that
    fits, or to the end.

    Returns
    -------
    tuple
        offset of each buffer in bytes, and the arena's size in bytes.
    """
    offsets: dict[str, int] = {}
    alive: list[tuple[int, int, int]] = []  # offset, size, last step; by offset
    total = 0
    for buffer in sorted(lifetimes, key=lambda b: b.first):
        alive = [entry for entry in alive if entry[2] >= buffer.first]
        size = -(-buffer.bytes // ALIGNMENT) * ALIGNMENT
        offset = _best_gap(alive, size)
        offsets[buffer.name] = offset
        alive.append((offset, size, buffer.last))
        alive.sort()
        total = max(total, offset + size)
    return offsets, total


def _best_gap(alive: list[tuple[int, int, int]], size: int) -> int:
    """The offset of the smallest gap between buffers that is large enough; else their end."""
    best: tuple[int, int] | None = None
    end = 0
    for offset, taken, _ in alive:
        gap = offset - end
        if gap >= size and (best is None or gap < best[0]):
            best = (gap, end)
        end = max(end, offset + taken)
    return best[1] if best else end
