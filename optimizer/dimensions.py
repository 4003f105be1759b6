"""Maps of dimensions through instructions, for rules about the movement of elements."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from hlo.instruction import Instruction
from optimizer.rewriting.guard import Guard, guard

if TYPE_CHECKING:
    from collections.abc import Sequence

Dims = tuple[int, ...]
Operands = tuple[Instruction, ...]


# Rule after rule asks for the same root.
@lru_cache(maxsize=16)
def _is_static(root: Instruction) -> bool:
    """Look at all instructions that a left side of two levels can name."""
    below = [inner for operand in root.operands for inner in operand.operands]
    return not any(i.shape.is_dynamic for i in (root, *root.operands, *below))


# Most rules reason with sizes, and a run-time size may be any.
static = Guard("all sizes are static", lambda match: _is_static(match.root))


def has_static_sizes(instr: Instruction) -> bool:
    """Whether neither an instruction nor its operands have dimensions of run-time size."""
    return not any(i.shape.is_dynamic for i in (instr, *instr.operands))


# Of passes that write one instruction in terms of others.
static_here = Guard("sizes here are static", lambda match: has_static_sizes(match.root))


@guard
def is_empty(x: Instruction) -> bool:
    """An array without elements."""
    return x.shape.is_array and x.shape.size == 0


def inverse(permutation: Sequence[int]) -> Dims:
    """The permutation that undoes another."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def without(items: Sequence[int], gone: Sequence[int]) -> Dims:
    """The sizes without those of some dimensions."""
    return tuple(n for d, n in enumerate(items) if d not in gone)


def picked(items: Sequence[int], dims: Sequence[int]) -> Dims:
    """The sizes of some dimensions."""
    return tuple(items[d] for d in dims)


def largest_divisor(number: int, most: int) -> int:
    """The largest divisor that is not above a bound; 1 if the bound is below, 0 of the number 0."""
    return next((n for n in range(min(number, most), 0, -1) if number % n == 0), min(number, 1))
