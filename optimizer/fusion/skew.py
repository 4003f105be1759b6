"""Values whose rows a reshape cuts anew, so that an element's place in them is a division.

    a = f32[256,770] add(x, y)
    b = f32[197120] reshape(a)
    c = f32[196864] slice(b), slice={[0:196864]}
    d = f32[256,769] reshape(c)                       d at (i, j) is a at n / 770, n % 770
                                                      where n = 769 i + j

Models skew a band around a diagonal so that it becomes a rectangle. To a kernel that computes `d`
from `a` in memory it is nothing, as `n` is all it needs; one that computes `a` besides divides for
every element, and does so one by one.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from hlo import attributes as a
from hlo.types.grouping import groups_of_many
from hlo.walk import users

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.instruction import Computation, Instruction

    Users = Mapping[Instruction, Sequence[Instruction]]

# Values that are looked at behind one reshape.
MOST_VALUES = 32


class _JoinedRow(NamedTuple):
    """One dimension of a value: some elements of rows that were joined.

    Attributes
    ----------
    lengths : how many elements the rows have, those of each dimension before.
    first, size : where in the first row it begins, and how many elements there are.
    """

    value: Instruction
    dimension: int
    lengths: tuple[int, ...]
    first: int
    size: int

    @property
    def whole(self) -> bool:
        """Whether it begins and ends with a row."""
        return not any(self.first % n or self.size % n for n in self.lengths)


def skewed(computation: Computation) -> set[Instruction]:
    """The values of a computation that are asked for by numbers which have to be divided."""
    reshapes = [i for i in computation.instructions if _is_reshape(i)]
    known = users(computation) if reshapes else {}
    return {i.operands[0] for i in reshapes if _skews(i, known)}


def _is_reshape(instr: Instruction) -> bool:
    """Whether an instruction only counts the elements of rows in another way."""
    if instr.opcode not in ("bitcast", "reshape"):
        return False
    shapes = instr.shape, instr.operands[0].shape
    in_rows = all(s == s.with_default_layout() for s in shapes)
    return in_rows and shapes[0].element_type is shapes[1].element_type and shapes[0].size > 0


def _skews(reshape: Instruction, known: Users) -> bool:
    """Whether a reshape, or what takes its result apart, cuts rows anew."""
    dims = reshape.operands[0].shape.dims
    for before, after in groups_of_many(dims, reshape.shape.dims):
        old, new = _lengths([dims[d] for d in before]), [reshape.shape.dims[d] for d in after]
        if not all(_even(n, m) for n in old for m in _lengths(new)):
            return True
        if old and len(after) == 1:
            row = _JoinedRow(reshape, after[0], old, 0, reshape.shape.dims[after[0]])
            if _is_cut_anew(row, known):
                return True
    return False


def _lengths(dims: Sequence[int]) -> tuple[int, ...]:
    """How many elements the rows of an array have, and rows of these, but for the whole."""
    return tuple(accumulate(reversed(dims[1:]), mul))


def _even(one: int, other: int) -> bool:
    return one % other == 0 or other % one == 0


def _is_cut_anew(row: _JoinedRow, known: Users) -> bool:
    """Whether rows that were joined are taken apart elsewhere."""
    stack, seen = [row], 0
    while stack and seen < MOST_VALUES:
        row, seen = stack.pop(), seen + 1
        followed = 0
        for user in known[row.value]:
            if _is_reshape(user):
                followed += 1
                if _cuts(row, user):
                    return True
            elif (moved := _behind(row, user)) is not None:
                followed += 1
                stack.append(moved)
        # A value without users is the result.
        if not (0 < followed == len(known[row.value]) or row.whole):
            return True
    return False


def _cuts(row: _JoinedRow, reshape: Instruction) -> bool:
    """Whether a reshape cuts rows elsewhere than where they were joined."""
    dims = reshape.shape.dims
    for before, after in groups_of_many(row.value.shape.dims, dims):
        if row.dimension in before:
            cuts = _lengths([dims[d] for d in after])
            if len(before) > 1 or not cuts:
                return not row.whole
            return any(not _even(n, m) or row.first % min(n, m) for n in row.lengths for m in cuts)
    return False


def _behind(row: _JoinedRow, user: Instruction) -> _JoinedRow | None:
    """The same rows in what is made of them; None if they are rows no more."""
    if user.row.elementwise and user.shape.dims == row.value.shape.dims:
        return row._replace(value=user)
    if user.opcode == "slice":
        attrs = a.Slice.of(user)
        part = attrs.slice[row.dimension]
        if part.stride == 1:
            first, size = row.first + part.start, user.shape.dims[row.dimension]
            return row._replace(value=user, first=first, size=size)
    if user.opcode == "pad" and user.operands[0] is row.value:
        padding = a.Pad.of(user)
        edges = padding.padding[row.dimension]
        if not edges.interior:
            first, size = row.first - edges.low, user.shape.dims[row.dimension]
            return row._replace(value=user, first=first, size=size)
    return None
