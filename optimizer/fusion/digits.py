"""Symbolic indices: the loops of a kernel that count an element's index.

A *digit* is the counter of one loop. The index of an element is written as a tuple of digits, as
one writes a number in mixed radix: the first digit counts most. An elementwise instruction reads
its operands at its own index, and so does a reshape, which leaves the row-major number of every
element as it is; a transpose permutes the digits, a broadcast leaves some out.

    y = f32[8,4] broadcast(x), dimensions={1}    y at (i, j) reads x at (j)
    y = f32[8,4] reshape(x)                      y at (i, j) reads x = f32[32] at (i, j)

Where one value is read at two indices, their loops may be made the same: digits are unified, and
split into several where sizes differ. That is how two kernels find their common loop.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import Gather
from hlo.opcode import SAME_ORDER
from optimizer.analysis.indexing_map import per_dimension
from optimizer.dimensions import inverse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape

DigitIndex = tuple[int, ...]
# Opcodes whose result has the operand's elements at the same row-major numbers; a bitcast has them
# at the same numbers in memory.
_SAME_NUMBER = SAME_ORDER - {"bitcast"} | {"map", "bitcast-convert"}


class Digits:
    """The digits of one kernel.

    Digits that belong to one *space*, such as the index of an array, are never made the same.
    """

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._spaces: list[frozenset[int]] = []
        self._became: dict[int, DigitIndex] = {}

    def new(self, sizes: Sequence[int], space: int) -> DigitIndex:
        """A new digit for each size but 1."""
        digits: list[int] = []
        for size in sizes:
            if size != 1:
                digits.append(len(self._sizes))
                self._sizes.append(size)
                self._spaces.append(frozenset((space,)))
        return tuple(digits)

    def size(self, digit: int) -> int:
        """The size of a digit."""
        return self._sizes[digit]

    def resolve(self, index: DigitIndex) -> DigitIndex:
        """An index in the digits that have replaced its own."""
        if self._became.keys().isdisjoint(index):
            return index
        return tuple([r for d in index for r in self._resolved(d)])

    def _resolved(self, digit: int) -> DigitIndex:
        if digit not in self._became:
            return (digit,)
        # The chain of replacements is followed once, and then is one step long.
        now = self._became[digit] = self.resolve(self._became[digit])
        return now

    def belong(self, index: DigitIndex, space: int) -> None:
        """Let the digits of an index belong to one more space."""
        for digit in self.resolve(index):
            self._spaces[digit] |= {space}

    def unify(self, one: DigitIndex, other: DigitIndex) -> bool:
        """Make two indices the same, if they can be; whether they are the same now."""
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

    def grouped(self, index: DigitIndex, dims: Sequence[int]) -> list[DigitIndex] | None:
        """The digits of each dimension of an array; None if one has only part of a digit."""
        rest = list(self.resolve(index))
        groups: list[DigitIndex] = []
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

    def operand_index(self, user: Instruction, number: int, index: DigitIndex) -> DigitIndex | None:
        """The index at which an instruction reads an operand; None if it is unknown.

        Not for the arrays that a reduce folds: the dimensions that it folds have their own digits.
        """
        operand = user.operands[number].shape
        if operand.size == 1:
            return ()
        if user.row.elementwise or user.opcode in _SAME_NUMBER:
            return index if operand.size == user.shape.first_leaf.size else None
        if user.opcode == "bitcast":
            return self._bitcast_index(operand, user.shape, index)
        groups = self.grouped(index, user.shape.dims)
        if groups is None or user.opcode not in ("broadcast", "gather", "transpose"):
            return None
        if user.opcode == "gather":
            return _starts(user, number, groups)
        return _joined(per_dimension(user, groups))

    def _bitcast_index(self, source: Shape, target: Shape, index: DigitIndex) -> DigitIndex | None:
        """The index at which a bitcast from one shape to another reads its operand."""
        if source.size != target.size:
            return None
        if not target.is_row_major:
            groups = self.grouped(index, target.dims)
            if groups is None:
                return None
            index = _joined([groups[d] for d in target.memory_order])
        if source.is_row_major:
            return index
        groups = self.grouped(index, [source.dims[d] for d in source.memory_order])
        if groups is None:
            return None
        return _joined([groups[k] for k in inverse(source.memory_order)])


def _joined(groups: Iterable[DigitIndex]) -> DigitIndex:
    return tuple([digit for group in groups for digit in group])


def _starts(gather: Instruction, number: int, groups: Sequence[DigitIndex]) -> DigitIndex | None:
    """The index at which a gather reads the start of a slice, if that is one number."""
    attrs, starts = Gather.of(gather), gather.operands[1].shape
    if number != 1 or starts.size != prod(starts.dims[: attrs.index_vector_dim]):
        return None
    return _joined([group for d, group in enumerate(groups) if d not in attrs.offset_dims])


def _pieces(one: Sequence[int], other: Sequence[int]) -> list[tuple[int, int, int]] | None:
    """Split two rows of sizes into the same pieces: numbers in both rows, and the piece's size."""
    pieces: list[tuple[int, int, int]] = []
    i = j = 0
    left, right = 1, 1
    while i < len(one) or j < len(other):
        left = one[i] if left == 1 and i < len(one) else left
        right = other[j] if right == 1 and j < len(other) else right
        size = min(left, right)
        if size < 2 or left % size or right % size:
            return None
        pieces.append((i, j, size))
        left, right = left // size, right // size
        i, j = i + (left == 1), j + (right == 1)
    return pieces
