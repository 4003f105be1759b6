"""Symbolic indices: which loops of a kernel an element's index is made of.

A *digit* is the counter of one loop; a *place* is the index of an element, written as a row of
digits, as one writes a number in mixed radix: the first digit counts most. An elementwise operation
asks for its operands at its own place, and so does a reshape, which leaves the row-major number of
every element as it is; a transpose permutes digits, a broadcast leaves some out.

    y = f32[8,4] broadcast(x), dimensions={1}    y at (i, j) asks x at (j)
    y = f32[8,4] reshape(x)                      y at (i, j) asks x = f32[32] at (i, j)

Where one value is asked for at two places, the loops may be made the same: digits are unified, and
cut into several where sizes differ. That is how two kernels find their common loop.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import Gather
from hlo.opcode import SAME_ORDER
from optimizer.analysis.indexing_map import per_dimension

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction

Place = tuple[int, ...]
_SAME_NUMBER = SAME_ORDER | {"map", "bitcast-convert"}


class Digits:
    """The digits of one kernel.

    Digits that belong to one *space*, such as the index of an array, are never made the same.
    """

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._spaces: list[frozenset[int]] = []
        self._became: dict[int, Place] = {}

    def new(self, sizes: Sequence[int], space: int) -> Place:
        """A new digit for each size but 1."""
        made: list[int] = []
        for size in sizes:
            if size != 1:
                made.append(len(self._sizes))
                self._sizes.append(size)
                self._spaces.append(frozenset((space,)))
        return tuple(made)

    def size(self, digit: int) -> int:
        """The size of a digit."""
        return self._sizes[digit]

    def resolve(self, place: Place) -> Place:
        """A place in the digits that stand for its own by now."""
        if self._became.keys().isdisjoint(place):
            return place
        return tuple([r for d in place for r in self._resolved(d)])

    def _resolved(self, digit: int) -> Place:
        if digit not in self._became:
            return (digit,)
        # The way is gone once; from then on it leads there at once.
        now = self._became[digit] = self.resolve(self._became[digit])
        return now

    def belong(self, place: Place, space: int) -> None:
        """Let the digits of a place belong to one more space."""
        for digit in self.resolve(place):
            self._spaces[digit] |= {space}

    def unify(self, one: Place, other: Place) -> bool:
        """Make two places the same, if they can be; nothing happens if they can't."""
        if one == other:
            return True
        one, other = self.resolve(one), self.resolve(other)
        if one == other:
            return True
        pieces = _pieces([self._sizes[d] for d in one], [self._sizes[d] for d in other])
        if pieces is None:
            return False
        if any(
            one[i] != other[j] and self._spaces[one[i]] & self._spaces[other[j]]
            for i, j, _ in pieces
        ):
            return False
        pieces_of_one: dict[int, list[int]] = {}
        pieces_of_other: dict[int, list[int]] = {}
        for i, j, size in pieces:
            whole = one[i] == other[j] or self._sizes[one[i]] == size
            piece = one[i] if whole else self._piece(size, one[i])
            self._spaces[piece] |= self._spaces[other[j]]
            pieces_of_one.setdefault(one[i], []).append(piece)
            pieces_of_other.setdefault(other[j], []).append(piece)
        for digit, became in (*pieces_of_one.items(), *pieces_of_other.items()):
            if became != [digit]:
                self._became[digit] = tuple(became)
        return True

    def _piece(self, size: int, digit: int) -> int:
        """A new digit that is part of another one."""
        self._sizes.append(size)
        self._spaces.append(self._spaces[digit])
        return len(self._sizes) - 1

    def grouped(self, place: Place, dims: Sequence[int]) -> list[Place] | None:
        """The digits of each dimension of an array; None if one has just a part of a digit."""
        rest = list(self.resolve(place))
        groups: list[Place] = []
        for dim in dims:
            count, taken = 1, 0
            while count < dim and taken < len(rest):
                count *= self._sizes[rest[taken]]
                taken += 1
            if count != dim:
                return None
            groups.append(tuple(rest[:taken]))
            del rest[:taken]
        return groups

    def operand(self, user: Instruction, number: int, place: Place) -> Place | None:
        """The place at which an instruction asks for an operand; None if unknown.

        Not for the arrays that a reduce folds, which have digits of their own.
        """
        operand = user.operands[number].shape
        if operand.size == 1:
            return ()
        if user.row.elementwise or user.opcode in _SAME_NUMBER:
            return place if operand.size == user.shape.first_leaf.size else None
        groups = self.grouped(place, user.shape.dims)
        if groups is None:
            return None
        if user.opcode == "gather":
            return _starts(user, number, groups)
        if user.opcode not in ("broadcast", "transpose"):
            return None
        return tuple([digit for group in per_dimension(user, groups) for digit in group])


def _starts(gather: Instruction, number: int, groups: Sequence[Place]) -> Place | None:
    """The place at which a gather asks for where a slice starts, if that is one number."""
    attrs, starts = Gather.of(gather), gather.operands[1].shape
    if number != 1 or starts.size != prod(starts.dims[: attrs.index_vector_dim]):
        return None
    batch = (group for d, group in enumerate(groups) if d not in attrs.offset_dims)
    return tuple([digit for group in batch for digit in group])


def _pieces(one: Sequence[int], other: Sequence[int]) -> list[tuple[int, int, int]] | None:
    """Cut two rows of sizes into the same pieces: which part of which, and its size."""
    found: list[tuple[int, int, int]] = []
    i = j = 0
    left, right = 1, 1
    while i < len(one) or j < len(other):
        left = one[i] if left == 1 and i < len(one) else left
        right = other[j] if right == 1 and j < len(other) else right
        size = min(left, right)
        if size < 2 or left % size or right % size:
            return None
        found.append((i, j, size))
        left, right = left // size, right // size
        i, j = i + (left == 1), j + (right == 1)
    return found
