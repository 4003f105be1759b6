"""A memory of which only is known whose each byte is."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from optimizer.memory.buffer_assignment import Allocation, AllocationSlice

Mark = object


class MarkedBytes(NamedTuple):
    """Bytes that hold one mark."""

    first: int
    end: int
    mark: Mark


class MarkedMemory:
    """The contents of each allocation, as marks."""

    def __init__(self, pieces: dict[Allocation, list[MarkedBytes]] | None = None) -> None:
        self.pieces = pieces or {}

    def copy(self) -> MarkedMemory:
        """Another memory with the same contents."""
        return MarkedMemory({a: list(pieces) for a, pieces in self.pieces.items()})

    def write(self, slice_: AllocationSlice, mark: Mark) -> None:
        """Leave a mark on some bytes."""
        if not slice_.size:
            return
        first, end = slice_.offset, slice_.offset + slice_.size
        pieces = self.pieces.setdefault(slice_.allocation, [])
        start = bisect_left(pieces, first, key=lambda p: p.end)
        stop = start
        pieces_kept: list[MarkedBytes] = []
        while stop < len(pieces) and pieces[stop].first < end:
            old = pieces[stop]
            if old.first < first:
                pieces_kept.append(MarkedBytes(old.first, first, old.mark))
            if old.end > end:
                pieces_kept.append(MarkedBytes(end, old.end, old.mark))
            stop += 1
        pieces[start:stop] = pieces_kept
        insort(pieces, MarkedBytes(first, end, mark), key=lambda p: p.first)

    def holds(self, slice_: AllocationSlice, mark: Mark) -> bool:
        """Whether all of some bytes hold a mark."""
        first, end = slice_.offset, slice_.offset + slice_.size
        for piece in self.pieces.get(slice_.allocation, ()):
            if piece.first <= first < piece.end and piece.mark is mark:
                first = piece.end
        return first >= end

    def keep_common(self, other: MarkedMemory) -> None:
        """Forget the marks that another memory does not hold."""
        for allocation, pieces in self.pieces.items():
            others = other.pieces.get(allocation, [])
            self.pieces[allocation] = [
                MarkedBytes(max(p.first, q.first), min(p.end, q.end), p.mark)
                for p in pieces
                for q in others
                if p.mark is q.mark and p.first < q.end and q.first < p.end
            ]
