"""Remainders of rows: elements that fill no vector, and that a kernel computes one by one.

    a = f32[128,1] slice(x), slice={[0:128], [127:128]}
    b = f32[128,127] slice(x), slice={[0:128], [0:127]}
    c = f32[128,128] concatenate(a, b), dimensions={1}

A kernel has a loop for each part of a row, so that no iteration asks in which part it is. Here
vectors of 16 elements leave remainders of 1 and 15. Whatever the kernel computes, it computes for
each element of a remainder alone, and that takes as long as for a whole vector.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.support import machine
from optimizer.fusion.policy import ELEMENTWISE, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hlo.instruction import Instruction
    from optimizer.fusion.policy import Policy

STORED_WORK, FUNCTION_ALONE, LONG_ROW = 4, 32, 4 * machine.LANES
"""Measured: operations outside of vectors that take as long as to store an element, and to load it,
among many; a function counts as so many. With 1, the game of life takes 2.5 times as long; if it is
never weighed, an Ising model 4.4 times; and if functions count 8, rows of 100 that four of them
are taken of 1.2 times. Tuned: elements of a row from which on it is weighed."""

_COMPUTED = ELEMENTWISE | MOVEMENT


def remainder(instr: Instruction) -> int:
    """The number of elements of a row that fill no vector, as the row is made of several parts.

    Half of a vector counts as one element, for compilers have instructions for it. The number is 0
    for rows of less than `LONG_ROW` elements, which take little time in any case.
    """
    parts = _parts(instr)
    if sum(parts) < LONG_ROW:
        return 0
    rests = (size % machine.LANES for size in parts)
    return sum(sum(divmod(rest, machine.HALF_VECTOR)) for rest in rests)


def _parts(instr: Instruction) -> tuple[int, ...]:
    """The sizes of a row's parts; none where it is one."""
    last = instr.shape.rank - 1
    if instr.opcode == "concatenate" and a.Dimensions.of(instr).dimensions == (last,):
        return tuple(operand.shape.dims[last] for operand in instr.operands)
    if instr.opcode == "pad" and last >= 0:
        around = a.Pad.of(instr).padding[last]
        low, high = max(around.low, 0), max(around.high, 0)
        if (low or high) and not around.interior:
            return low, instr.shape.dims[last] - low - high, high
    return ()


def most_operations(instr: Instruction) -> float:
    """The most operations an element of a kernel into which a value may be fused.

    With more, the remainders take longer than to store the value in a kernel of its own and to
    load it in this one.
    """
    rest = remainder(instr)
    return STORED_WORK * instr.shape.dims[-1] / rest if rest else inf


def operations(members: Iterable[Instruction], policy: Policy) -> int:
    """The number of operations of a kernel on each of its elements."""
    counted = (m for m in members if m.opcode in ELEMENTWISE)
    return sum(FUNCTION_ALONE if policy.is_expensive(m) else 1 for m in counted)


def whole_kernel(root: Instruction) -> Iterator[Instruction]:
    """A value and the arrays of as many elements from which its kernel may compute it."""
    seen, stack = {root}, [root]
    while stack:
        instr = stack.pop()
        yield instr
        for operand in instr.operands:
            alike = operand.shape.is_array and operand.shape.size == root.shape.size
            if alike and operand.opcode in _COMPUTED and operand not in seen:
                seen.add(operand)
                stack.append(operand)


def folds_few_columns(instr: Instruction) -> bool:
    """Whether a reduction keeps the last dimension, whose elements fill no vector."""
    if instr.opcode != "reduce":
        return False
    dims, folded = instr.operands[0].shape.dims, a.Dimensions.of(instr).dimensions
    columns = dims[-1] if dims else 1
    return 1 < columns < machine.HALF_VECTOR and len(dims) - 1 not in folded
