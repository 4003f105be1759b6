"""Values that a reshape splits into other rows, so that an element's index takes a division.

    a = f32[256,770] add(x, y)
    b = f32[197120] reshape(a)
    c = f32[196864] slice(b), slice={[0:196864]}
    d = f32[256,769] reshape(c)                       d at (i, j) is a at n / 770, n % 770
                                                      where n = 769 i + j

A kernel that reads `a` from memory needs `n` alone, and divides nothing. A kernel that computes `a`
itself divides for every element, and its loop leaves the vector lanes. A quotient of one loop's
counter takes no division: that loop can be split into two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hlo import attributes as a
from hlo.types.grouping import groups_of_many
from hlo.walk import users
from optimizer.analysis.indexing import Counter, Sum, counter
from optimizer.analysis.indexing_map import sources

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hlo.instruction import Computation, Instruction

# Values that are looked at before one value.
MOST_VALUES = 32


def skewed(computation: Computation) -> set[Instruction]:
    """The values of a computation that are read at indices which take a division."""
    skewed_values: set[Instruction] = set()
    if computation.opcodes.isdisjoint(("bitcast", "reshape")):
        return skewed_values
    known = users(computation)
    # Reshapes, and values that hold elements of a reshape in its order.
    behind: dict[Instruction, _Path] = {}
    for instr in computation.instructions:
        again = _is_reshape(instr)
        before = [behind[o] for o in _followed(instr) if o in behind]
        if again or before:
            behind[instr] = path = _Path.through(instr, before)
            used = known[instr]
            ends = again or not used or any(instr not in _followed(u) for u in used)
            if ends and path.divides and path.mixes:
                skewed_values |= _divided_before(instr, behind.keys(), whole=not again)
    return skewed_values


class _Path(NamedTuple):
    """The reshapes, slices and pads that lead to a value: no number is divided without both.

    Attributes
    ----------
    divides : a reshape makes one dimension of several, so that numbers are divided to go back.
    mixes : a reshape makes several dimensions of one, or rows are made shorter or longer, so that
        a number that is divided may be more than the counter of one loop.
    """

    divides: bool
    mixes: bool

    @classmethod
    def through(cls, instr: Instruction, before: Sequence[_Path]) -> _Path:
        """The path to an instruction after its operands' paths."""
        divides, mixes = any(p.divides for p in before), any(p.mixes for p in before)
        if not _is_reshape(instr):
            return cls(divides, mixes or not instr.row.elementwise)
        groups = groups_of_many(instr.operands[0].shape.dims, instr.shape.dims)
        return cls(
            divides or any(len(many) > 1 for many, _ in groups),
            mixes or any(len(many) > 1 for _, many in groups),
        )


def _is_reshape(instr: Instruction) -> bool:
    """Whether an instruction only counts the elements of rows in another way."""
    if instr.opcode not in ("bitcast", "reshape"):
        return False
    shapes = instr.shape, instr.operands[0].shape
    in_rows = all(s == s.with_default_layout() for s in shapes)
    return in_rows and shapes[0].element_type is shapes[1].element_type and shapes[0].size > 0


def _followed(instr: Instruction) -> tuple[Instruction, ...]:
    """The operands whose elements are in the result in the same order, or some of them."""
    if instr.row.elementwise:
        return tuple([o for o in instr.operands if o.shape.dims == instr.shape.dims])
    # Elements that are spaced are divided to be found, with or without a reshape.
    spaced = instr.opcode == "pad" and any(p.interior for p in a.Pad.of(instr).padding)
    moves = instr.opcode in ("pad", "slice") and not spaced
    return instr.operands[:1] if moves or _is_reshape(instr) else ()


def _divided_before(
    end: Instruction, behind: Collection[Instruction], *, whole: bool
) -> set[Instruction]:
    """The operands of reshapes of which a loop over a value would divide to find the elements.

    Parameters
    ----------
    whole : the loop may only be cut where it goes through whole rows.
    """
    dividends: set[Instruction] = set()
    dims = end.shape.dims
    stack = [(end, tuple([counter(str(d), size) for d, size in enumerate(dims)]))]
    for _ in range(MOST_VALUES):
        if not stack:
            break
        value, index = stack.pop()
        moved = sources(value, index)
        if _is_reshape(value):
            if any(_divides(part, whole=whole) for part in moved[0].source_index):
                dividends.add(value.operands[0])
            if value is not end:
                continue
        read_at = moved[0].source_index if moved else index
        stack += [(o, read_at) for o in _followed(value) if o in behind]
    return dividends


def _divides(part: Sum, *, whole: bool) -> bool:
    """Whether a number holds a quotient of several counters, or of one that cuts rows."""
    for atom, _ in part.terms:
        if isinstance(atom, Counter):
            continue
        dividend, divisor = atom.dividend, atom.divisor
        if len(dividend.terms) > 1 or dividend.constant % divisor:
            return True
        if whole and (dividend.low % divisor or (dividend.high + 1) % divisor):
            return True
    return False
