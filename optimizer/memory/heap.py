"""Packs blocks of memory that are needed at different times into as few bytes as it can.

To find the fewest is NP-hard (dynamic storage allocation). Taking the blocks by decreasing size and
putting each into the smallest gap that is free while it is needed comes close, and often finds it.

References
----------
XLA, `GlobalDecreasingSizeBestFitHeap` and `ChooseBestHeapAlgorithm` in
`xla/service/heap_simulator/heap_simulator.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


Span = tuple[int, int]
# Up to so many blocks, Python compares one by one; of more, NumPy all. `benchmarks.ablate --numbers
# optimizer.memory.heap:_FEW` tells what that is worth.
_FEW = 100


def aligned(size: int) -> int:
    """The next multiple of the alignment."""
    return -(-size // machine.CACHE_LINE) * machine.CACHE_LINE


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Memory that is needed during some spans of time; both ends of a span belong to it.

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
            one, two = self.spans[i], other.spans[j]
            if one[0] <= two[1] and two[0] <= one[1]:
                return True
            if one[1] < two[1]:
                i += 1
            else:
                j += 1
        return False


class Heap:
    """Blocks at their offsets.

    Attributes
    ----------
    size : the end of the last block, in bytes.
    """

    def __init__(self) -> None:
        self.size = 0
        self._blocks: list[Block] = []
        self._placed: list[tuple[int, int, int, int, Block]] = []
        # A row each: the blocks' begins and ends, first and last moments, and numbers of spans.
        self._table = np.empty((5, 16), np.int64)
        # For each n, the numbers of the blocks that are needed for at most 2^n moments, by the
        # moment divided by 2^n: each is in one or two of these lists.
        self._steps: dict[int, dict[int, list[int]]] = {}

    def put(self, block: Block, offset: int) -> None:
        """Put a block at an offset."""
        count = len(self._blocks)
        if count == self._table.shape[1]:
            self._table = np.concatenate([self._table, np.empty_like(self._table)], axis=1)
        end = offset + aligned(block.size)
        first, last = block.first, block.last
        self._table[:, count] = offset, end, first, last, len(block.spans)
        self._blocks.append(block)
        self._placed.append((offset, end, first, last, block))
        step = (last - first).bit_length()
        steps = self._steps.setdefault(step, {})
        for moment in {first >> step, last >> step}:
            steps.setdefault(moment, []).append(count)
        self.size = max(self.size, offset + block.size)

    def gap(self, block: Block) -> int:
        """The offset of the smallest gap that is free while a block is needed, or of the end."""
        near = self._near(block)
        if near is not None:
            return self._gap_among(near, block)
        starts, ends = self._live_with(block)
        # Where all blocks that begin before each one have ended.
        free = np.maximum.accumulate(np.concatenate([[0], ends]))
        gaps = starts - free[:-1]
        fitting = np.flatnonzero(gaps >= aligned(block.size))
        if not fitting.size:
            return int(free[-1])
        return int(free[fitting[np.argmin(gaps[fitting])]])

    def _live_with(self, block: Block) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The begins and ends of the blocks that are live together with a block, by begin."""
        starts, ends, first, last, spans = self._table[:, : len(self._blocks)]
        meets = (first <= block.last) & (last >= block.first)
        # A block of several spans is not needed between them, where others may lie.
        pauses = meets & ((spans > 1) | (len(block.spans) > 1))
        for k in np.flatnonzero(pauses).tolist():
            meets[k] = self._blocks[k].meets(block)
        order = np.argsort(starts[meets])
        return starts[meets][order], ends[meets][order]

    def _gap_among(self, near: Sequence[int], block: Block) -> int:
        """The offset of that gap among few blocks, for which NumPy would take longer."""
        needed, free, first, last = aligned(block.size), 0, block.first, block.last
        best: tuple[int, int] | None = None
        live = [
            (start, end)
            for start, end, begin, stop, other in map(self._placed.__getitem__, near)
            if begin <= last and stop >= first and other.meets(block)
        ]
        for start, end in sorted(live):
            gap = start - free
            if gap >= needed and (best is None or gap < best[0]):
                best = gap, free
            free = max(free, end)
        return free if best is None else best[1]

    def _near(self, block: Block) -> Sequence[int] | None:
        """The numbers of all blocks that may be live together with a block; None for all of them.

        A number may be in the list twice, which changes nothing.
        """
        count, first, last = len(self._blocks), block.first, block.last
        if count <= _FEW:
            return range(count)
        if sum(((last - first) >> step) + 2 for step in self._steps) >= count:
            return None
        buffers: list[int] = []
        for step, steps in self._steps.items():
            for moment in range(first >> step, (last >> step) + 1):
                buffers += steps.get(moment, ())
                if len(buffers) > _FEW:
                    return None
        return buffers


def pack(blocks: Sequence[Block]) -> tuple[list[int], int]:
    """Offsets such that no two blocks that are needed at one moment share bytes.

    Returns
    -------
    tuple
        the offset of each block, a multiple of the alignment, and the size of them all.
    """
    best, least = _packed(blocks, _ORDERS[0]), peak(blocks)
    for key in _ORDERS[1:]:
        if best[1] > least:
            best = min(best, _packed(blocks, key), key=lambda packing: packing[1])
    return best


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
    """Bytes that are needed at the worst moment: a lower bound for every packing."""
    return worst_moment(blocks)[1]


def worst_moment(blocks: Sequence[Block]) -> tuple[int, int]:
    """The first moment at which the most bytes are needed, and their number."""
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
