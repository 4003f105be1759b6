"""Packs blocks of memory that are needed at different times into as few bytes as it can.

To find the fewest is NP-hard (dynamic storage allocation). Taking the blocks by decreasing size and
putting each into the smallest gap that is free while it is needed comes close, and often there.

References
----------
XLA, `GlobalDecreasingSizeBestFitHeap` and `ChooseBestHeapAlgorithm` in
`xla/service/heap_simulator/heap_simulator.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Span = tuple[int, int]


def aligned(size: int) -> int:
    """The next multiple of the alignment."""
    return -(-size // machine.CACHE_LINE) * machine.CACHE_LINE


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Memory that is needed for some spans of moments; both ends of a span belong to it.

    Attributes
    ----------
    spans : in order.
    """

    size: int
    spans: Sequence[Span]

    @property
    def first(self) -> int:
        """The first moment at which it is needed."""
        return self.spans[0][0]

    @property
    def last(self) -> int:
        """The last moment at which it is needed."""
        return max(last for _, last in self.spans)

    def meets(self, other: Block) -> bool:
        """Whether both are needed at some moment."""
        i = j = 0
        while i < len(self.spans) and j < len(other.spans):
            mine, theirs = self.spans[i], other.spans[j]
            if mine[0] <= theirs[1] and theirs[0] <= mine[1]:
                return True
            if mine[1] < theirs[1]:
                i += 1
            else:
                j += 1
        return False


class Heap:
    """Blocks that have their offsets."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.offsets: list[int] = []
        self.size = 0
        # First and last moments of all blocks: they tell at once which may meet a new one.
        self._moments = np.empty((2, 16), np.int64)

    def put(self, block: Block, offset: int) -> None:
        """Put a block at an offset."""
        count = len(self.blocks)
        if count == self._moments.shape[1]:
            self._moments = np.concatenate([self._moments, np.empty_like(self._moments)], axis=1)
        self._moments[:, count] = block.first, block.last
        self.blocks.append(block)
        self.offsets.append(offset)
        self.size = max(self.size, offset + block.size)

    def gap(self, block: Block) -> int:
        """The offset of the smallest gap that is free while a block is needed; else their end."""
        first, last = self._moments[:, : len(self.blocks)]
        maybe = np.flatnonzero((first <= block.last) & (last >= block.first))
        taken = sorted(
            (self.offsets[k], self.offsets[k] + aligned(self.blocks[k].size))
            for k in maybe.tolist()
            if self.blocks[k].meets(block)
        )
        size = aligned(block.size)
        best: tuple[int, int] | None = None
        end = 0
        for offset, stop in taken:
            if offset - end >= size and (best is None or offset - end < best[0]):
                best = (offset - end, end)
            end = max(end, stop)
        return best[1] if best else end


def pack(blocks: Sequence[Block]) -> tuple[list[int], int]:
    """Offsets such that no two blocks that are needed at one moment share bytes.

    Returns
    -------
    tuple
        the offset of each block, a multiple of the alignment, and the size of them all.
    """
    return min((_packed(blocks, key) for key in _ORDERS), key=lambda found: found[1])


def _by_size(block: Block) -> tuple[int, ...]:
    return (-block.size, block.first)


def _by_time(block: Block) -> tuple[int, ...]:
    return (block.first - block.last, -block.size)


def _by_area(block: Block) -> tuple[int, ...]:
    return (-block.size * (block.last - block.first + 1), block.first)


_ORDERS: tuple[Callable[[Block], tuple[int, ...]], ...] = (_by_size, _by_time, _by_area)


def _packed(
    blocks: Sequence[Block], key: Callable[[Block], tuple[int, ...]]
) -> tuple[list[int], int]:
    heap = Heap()
    offsets = [0] * len(blocks)
    for number in sorted(range(len(blocks)), key=lambda n: key(blocks[n])):
        if blocks[number].size:
            offsets[number] = heap.gap(blocks[number])
            heap.put(blocks[number], offsets[number])
    return offsets, heap.size


def peak(blocks: Sequence[Block]) -> int:
    """Bytes that are needed at the worst moment: what no packing can do with less than."""
    return worst_moment(blocks)[1]


def worst_moment(blocks: Sequence[Block]) -> tuple[int, int]:
    """The first moment at which most bytes are needed, and how many these are."""
    change: dict[int, int] = {}
    for block in blocks:
        for first, last in block.spans:
            change[first] = change.get(first, 0) + block.size
            change[last + 1] = change.get(last + 1, 0) - block.size
    worst = most = now = 0
    for moment in sorted(change):
        now += change[moment]
        if now > most:
            worst, most = moment, now
    return worst, most
