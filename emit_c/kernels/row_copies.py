"""Rows of a few numbers that only move: one copy of a row, instead of one of each number.

    y[j * 2] = x[i * 2];  y[j * 2 + 1] = x[i * 2 + 1]

becomes

    memcpy(&y[j * 2], &x[i * 2], 8)

which is one load and one store. A compiler that runs the loop around it in lanes would gather each
number of each row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from codegen.elements.memory import copied
from codegen.expressions import Index, Load, Name, Op
from codegen.kinds import number_of
from codegen.statements import Assign, Call, Let, Statement
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Move(NamedTuple):
    """A number that is stored as it was loaded, and its bytes."""

    target: Load
    source: Load
    size: int


def copy_of_row(statements: Sequence[Statement]) -> Call | None:
    """A call that copies a row, in place of statements that move each of its numbers.

    None if they do anything else, or if the numbers do not lie side by side.
    """
    moves = _moves(statements)
    if moves is None or len(moves) < 2:
        return None
    first = moves[0]
    for k, move in enumerate(moves):
        pairs = ((first.target, move.target), (first.source, move.source))
        if move.size != first.size or not all(_is_behind(*pair, k) for pair in pairs):
            return None
    target, source = (Op("&", (load,)) for load in (first.target, first.source))
    return copied(target, source, len(moves) * first.size)


def _moves(statements: Sequence[Statement]) -> list[_Move] | None:
    """The numbers that statements move; None if they do anything else."""
    loaded: dict[str, tuple[Load, int]] = {}
    found: list[_Move] = []
    for statement in statements:
        match statement:
            case Let(kind, name, Load() as source) if size := _bytes_of(number_of(kind)):
                loaded[name] = source, size
            case Assign(Load() as target, Name(name)) if name in loaded:
                found.append(_Move(target, *loaded[name]))
            case _:
                return None
    return found if len(found) == len(loaded) else None


def _bytes_of(kind: str) -> int:
    """The bytes of a number of a type; 0 where several share one, or it is no number."""
    known = ELEMENT_TYPES.get(kind)
    return known.bytes if known is not None and known.bits % 8 == 0 else 0


def _is_behind(first: Load, other: Load, distance: int) -> bool:
    """Whether an element lies so many elements behind another one of the same array."""
    if first.pointer != other.pointer:
        return False
    if not isinstance(first.index, Index) or not isinstance(other.index, Index):
        return False
    return first.index.sum + distance == other.index.sum
