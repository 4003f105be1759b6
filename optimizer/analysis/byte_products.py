"""Products of matrices of bytes on a GPU, whose instructions multiply four neighbours at once.

These are neighbours along the contraction, so an operand whose contracted dimensions come last in
memory is copied as it is; any other is turned byte by byte, or transposed before.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import DotDims

if TYPE_CHECKING:
    from hlo.instruction import Instruction

# The element types of operands, with those of sums.
TYPES = {"s8": "s32"}
# The least number of products that each number is a factor of, and of products in all, for which a
# transposition costs less than it saves: on an H200 a multiprocessor multiplies 1100 * 10^9 a
# second, but 400 where bytes are turned on their way; a transposition moves 3 * 10^12 bytes a
# second, and is a launch of 3 us.
LEAST_USES, LEAST_PRODUCTS = 128, 1 << 28
# Bytes that are copied at once.
TOGETHER = 16


def wants_contracted_last(dot: Instruction, number: int) -> bool:
    """Whether an operand's contracted dimensions are to come last in memory.

    References
    ----------
    XLA, `GpuLayoutAssignment::AddDotBackendConstraints`, which wants it of all s8.
    """
    types = {operand.shape.element_type.name for operand in dot.operands[:2]}
    if len(types) != 1 or TYPES.get(types.pop()) != dot.shape.element_type.name:
        return False
    _, left, contracted = parts(dot, 1 - number)
    dims = dot.operands[1 - number].shape.dims
    uses, depth = prod(dims[d] for d in left), prod(dims[d] for d in contracted)
    enough = uses >= LEAST_USES and dot.shape.size * depth >= LEAST_PRODUCTS
    return enough and depth % TOGETHER == 0


def parts(dot: Instruction, number: int) -> tuple[tuple[int, ...], ...]:
    """The dimensions of a dot's operand: those of batches, those that are left, the contracted."""
    attrs = DotDims.of(dot)
    batch = (attrs.lhs_batch_dims, attrs.rhs_batch_dims)[number]
    contracted = (attrs.lhs_contracting_dims, attrs.rhs_contracting_dims)[number]
    rank = dot.operands[number].shape.rank
    left = tuple(d for d in range(rank) if d not in batch and d not in contracted)
    return batch, left, contracted
