"""Windows of a cut dimension: which rows of whose blocks each device is to be given.

A convolution needs the last row of the device before, and the first row of the device after:

    device 1 has rows 4 to 7, and needs 3 to 8:     [3:4] of device 0,  [0:4],  [0:1] of device 2

So does everything whose rows move: slices, padding, concatenation, other sizes of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.partitioning.cuts import ArrayCut, Groups


@dataclass(frozen=True, slots=True)
class WindowPiece:
    """Consecutive rows of a window, which come from one block.

    Attributes
    ----------
    start, limit : the rows of the block.
    rounds : the pairs of source and target of each collective-permute; none if each device has
        the rows itself. A device sends to one other in each.
    """

    start: int
    limit: int
    rounds: tuple[Groups, ...]

    @property
    def rows(self) -> int:
        """The number of rows that collectives bring."""
        return (self.limit - self.start) * len(self.rounds)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A plan that gives each device a window of one dimension.

    Attributes
    ----------
    pieces : which the window is joined of.
    offsets : where in the joined pieces the window of each device begins.
    size : of the window.
    is_inside : whether all rows of all windows exist; others hold anything.
    """

    pieces: tuple[WindowPiece, ...]
    offsets: tuple[int, ...]
    size: int
    is_inside: bool

    @property
    def rows(self) -> int:
        """The number of rows that collectives bring."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def collectives(self) -> int:
        """The number of collectives that bring them."""
        return sum(len(piece.rounds) for piece in self.pieces)


@lru_cache(4096)
def planned(
    cut: ArrayCut,
    dim: int,
    extent: int,
    starts: tuple[int, ...],
    size: int,
    *,
    around: bool = False,
) -> Exchange | None:
    """The exchange by which each device is given its window; None if there is none.

    Parameters
    ----------
    extent : of the whole dimension.
    starts : the first row of each device's window.
    around : whether the first row follows the last one.
    """
    axis = cut.dims[dim]
    if axis is None or size == 0 or extent == 0 or (around and extent % axis.count):
        return None
    block = -(-extent // axis.count)
    first = min(s // block - place for s, place in zip(starts, axis.places, strict=True))
    by_distance = tuple(place + first for place in axis.places)
    by_block = tuple(start // block for start in starts)
    inside = around or (min(starts) >= 0 and max(starts) + size <= extent)
    plans = [
        Exchange(*_pieces(cut, dim, block, starts, size, begin, around=around), size, inside)
        for begin in dict.fromkeys((by_distance, by_block))
    ]
    return min(plans, key=lambda plan: (plan.rows, plan.collectives))


def _pieces(
    cut: ArrayCut,
    dim: int,
    block: int,
    starts: tuple[int, ...],
    size: int,
    begin: tuple[int, ...],
    *,
    around: bool,
) -> tuple[tuple[WindowPiece, ...], tuple[int, ...]]:
    """The pieces of consecutive blocks, and where in them each device's window begins.

    Parameters
    ----------
    begin : the block with which each device's pieces begin.
    """
    axis = cut.dims[dim]
    assert axis, "a dimension that is cut"
    ends = zip(starts, begin, strict=True)
    count = max((start + size - 1) // block - first for start, first in ends) + 1
    others = [a for d, a in enumerate(cut.dims) if d != dim and a] + list(cut.apart)
    holders: dict[tuple[int, ...], list[int]] = {}
    for d, place in enumerate(axis.places):
        holders.setdefault((place, *(a.places[d] for a in others)), []).append(d)
    pieces: list[WindowPiece] = []
    for k in range(count):
        wanted: list[tuple[int, tuple[int, ...]]] = []
        low, high = block, 0
        for d, start in enumerate(starts):
            place = begin[d] + k
            from_row = max(start - place * block, 0)
            to_row = min(start + size - place * block, block)
            if from_row < to_row:
                low, high = min(low, from_row), max(high, to_row)
                place = place % axis.count if around else place
                if 0 <= place < axis.count:
                    wanted.append((d, (place, *(a.places[d] for a in others))))
        low, high = (0 if k else low), (high if k == count - 1 else block)
        pieces.append(WindowPiece(low, high, _rounds(wanted, holders)))
    offsets = tuple(
        start - first * block - pieces[0].start for start, first in zip(starts, begin, strict=True)
    )
    return tuple(pieces), offsets


@lru_cache(4096)
def rounds_of(before: ArrayCut, after: ArrayCut) -> tuple[Groups, ...]:
    """Pairs of source and target that give each device the block that another cut wants of it.

    Blocks have the same sizes. Each device sends once in each round.
    """
    axes = [(a, b) for a, b in zip(before.dims, after.dims, strict=True) if a and b]
    manual = before.apart
    holders: dict[tuple[int, ...], list[int]] = {}
    wanted: list[tuple[int, tuple[int, ...]]] = []
    for d in range(len(axes[0][0].places)):
        own = tuple(a.places[d] for a in manual)
        holders.setdefault((*(a.places[d] for a, _ in axes), *own), []).append(d)
        wanted.append((d, (*(b.places[d] for _, b in axes), *own)))
    return _rounds(wanted, holders)


def _rounds(
    wanted: list[tuple[int, tuple[int, ...]]], holders: dict[tuple[int, ...], list[int]]
) -> tuple[Groups, ...]:
    """Pairs of source and target in which each device sends once; none if all have the rows."""
    if all(device in holders[key] for device, key in wanted):
        return ()
    rounds: list[Groups] = []
    while wanted:
        used: set[int] = set()
        pairs: list[tuple[int, int]] = []
        left: list[tuple[int, tuple[int, ...]]] = []
        # A device that has the rows itself keeps them.
        for device, key in sorted(wanted, key=lambda w: w[0] not in holders[w[1]]):
            free = [h for h in holders[key] if h not in used]
            source = device if device in free else free[0] if free else None
            if source is None:
                left.append((device, key))
                continue
            used.add(source)
            pairs.append((source, device))
        rounds.append(tuple(sorted(pairs)))
        wanted = left
    return tuple(rounds)
