"""Elements of rows that fill no vector, which a kernel computes one after the other.

    a = f32[128,1] slice(x), slice={[0:128], [127:128]}
    b = f32[128,127] slice(x), slice={[0:128], [0:127]}
    c = f32[128,128] concatenate(a, b), dimensions={1}

A kernel has a loop for each part of a row, so that no iteration asks in which part it is. Vectors
of 16 leave 1 and 15 elements over here; and the kernel computes all that it does for these alone,
which takes as long as for whole vectors.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from hlo import attributes as a
from optimizer import machine
from optimizer.fusion.policy import ELEMENTWISE, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hlo.instruction import Instruction
    from optimizer.fusion.policy import Policy

_COMPUTED = ELEMENTWISE | MOVEMENT


def left_over(instr: Instruction) -> int:
    """The elements of a row that fill no vector, since the row is made of several parts.

    Compilers take half of a vector as one. Short rows have none: they are quickly done either way.
    """
    parts = _parts(instr)
    if sum(parts) < machine.LONG_ROW:
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
    """The operations on an element that a kernel which computes a value may do for all it does.

    With more, it takes longer for what is left over than to store the value and load it.
    """
    left = left_over(instr)
    return machine.STORED_WORK * instr.shape.dims[-1] / left if left else inf


def operations(members: Iterable[Instruction], policy: Policy) -> int:
    """The operations of a kernel on each of its elements."""
    counted = (m for m in members if m.opcode in ELEMENTWISE)
    return sum(machine.FUNCTION_WORK if policy.is_expensive(m) else 1 for m in counted)


def whole_kernel(root: Instruction) -> Iterator[Instruction]:
    """All that may be computed along with a value: arrays of as many elements that it needs."""
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
    """Whether the numbers that a fold keeps apart lie side by side, but fill no vector."""
    if instr.opcode != "reduce":
        return False
    dims, folded = instr.operands[0].shape.dims, a.Dimensions.of(instr).dimensions
    return 1 < dims[-1] < machine.HALF_VECTOR and len(dims) - 1 not in folded
