"""Chains of updates of one array at constant places, and the last that touches a part of it.

    a = f32[8] dynamic-update-slice(x, u, two)       elements 2 and 3
    b = f32[8] dynamic-update-slice(a, v, six)       elements 6 and 7
    y = f32[1] slice(b), slice={[3:4]}               was last touched by `a`

To walk from a slice through thousands of updates that lie beside it would take as long as the
chain is, for each slice; here all of them are compared at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Instruction

    Place = tuple[list[int], list[int]]

# Updates whose common bounds are looked at before they are.
_BLOCK = 64


@dataclass(eq=False)
class _Chain:
    """Updates, each of the one before it; the first is of another chain's, or of any array.

    Attributes
    ----------
    places : starts and ends of the updates, with room for more.
    bounds : the least starts and greatest ends of each block of updates.
    """

    before: tuple[_Chain, int] | None
    updates: list[Instruction] = field(default_factory=list["Instruction"])
    places: NDArray[np.int64] | None = None
    bounds: NDArray[np.int64] | None = None

    def append(self, update: Instruction, place: Place) -> None:
        """Add the next update."""
        count, row = len(self.updates), np.array(place, np.int64)
        block, places, bounds = count // _BLOCK, self.places, self.bounds
        if places is None or bounds is None:
            places, bounds = np.empty((_BLOCK, *row.shape), np.int64), row[None].copy()
        elif count == len(places):
            places = np.concatenate([places, np.empty_like(places)])
            bounds = np.concatenate([bounds, np.empty_like(bounds)])
        if count % _BLOCK == 0:
            bounds[block] = row
        bounds[block] = np.minimum(bounds[block, 0], row[0]), np.maximum(bounds[block, 1], row[1])
        places[count] = row
        self.places, self.bounds = places, bounds
        self.updates.append(update)

    def last_touching(self, count: int, starts: Sequence[int], ends: Sequence[int]) -> int:
        """The number of the last of the first updates that touches a part; -1 for none."""
        assert self.places is not None
        assert self.bounds is not None
        # Updates that come one after the other are often near each other: few blocks are searched.
        for block in reversed(_touching(self.bounds[: -(-count // _BLOCK)], starts, ends)):
            start = block * _BLOCK
            touching = _touching(self.places[start : min(start + _BLOCK, count)], starts, ends)
            if touching:
                return start + touching[-1]
        return -1


def _touching(places: NDArray[np.int64], starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The numbers of those places that touch a part."""
    return np.flatnonzero(((places[:, 0] < ends) & (places[:, 1] > starts)).all(axis=1)).tolist()


class UpdateChains:
    """The chains of a graph, found as they are asked for.

    Parameters
    ----------
    place_of : the starts and ends of an update that a slice may be moved past; None for another
        instruction.
    """

    def __init__(self, place_of: Callable[[Instruction], Place | None]) -> None:
        self._place_of = place_of
        self._at: dict[Instruction, tuple[_Chain, int]] = {}

    def source(self, array: Instruction, starts: Sequence[int], ends: Sequence[int]) -> Instruction:
        """The oldest version of an array with the same elements in a part of it."""
        at = self._find(array)
        while at is not None:
            chain, number = at
            last = chain.last_touching(number + 1, starts, ends)
            if last >= 0:
                return chain.updates[last]
            array, at = chain.updates[0].operands[0], chain.before
        return array

    def _find(self, array: Instruction) -> tuple[_Chain, int] | None:
        """The place of an update in a chain; None if it is none."""
        new: list[tuple[Instruction, Place]] = []
        while array not in self._at and (place := self._place_of(array)) is not None:
            new.append((array, place))
            array = array.operands[0]
        at = self._at.get(array)
        for update, place in reversed(new):
            if at is None or at[1] + 1 < len(at[0].updates):
                at = _Chain(at), -1
            at[0].append(update, place)
            at = self._at[update] = at[0], at[1] + 1
        return at
