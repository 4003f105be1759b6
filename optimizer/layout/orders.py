"""Orders of dimensions in memory, and the orders after a transpose, reshape or broadcast.

An order lists dimensions from the fastest-varying to the slowest, as `{1,0}` does in HLO text.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from hlo.types.grouping import groups_of_many
from hlo.types.shape import row_major

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.types.shape import Shape

Order = tuple[int, ...]
Dims = tuple[int, ...]


def order_of(shape: Shape) -> Order:
    """The order that an array's layout says; row-major where it says nothing."""
    return shape.layout.minor_to_major if shape.layout else rows(shape.rank)


def rows(rank: int) -> Order:
    """The row-major order: the last dimension varies fastest."""
    return tuple(range(rank - 1, -1, -1))


def with_order(shape: Shape, order: Order) -> Shape:
    """The same array in another order; tiles and memory space stay."""
    layout = shape.layout or row_major(shape.rank)
    if layout.minor_to_major == order:
        return shape
    return shape.with_layout(replace(layout, minor_to_major=order))


def same_memory(dims: Dims, left: Order, right: Order) -> bool:
    """Whether two orders put the elements at the same addresses; sizes of 1 don't count."""
    if left == right or 0 in dims:
        return True
    return [d for d in left if dims[d] != 1] == [d for d in right if dims[d] != 1]


def same_order(_dims: Dims, left: Order, right: Order) -> bool:
    """Whether two orders are one, whatever the sizes."""
    return left == right


def transposed(order: Order, permutation: Sequence[int]) -> Order:
    """The order of `transpose(x, permutation)` for which no byte moves, from the order of x."""
    position = {dim: i for i, dim in enumerate(permutation)}
    return tuple(position[dim] for dim in order)


def untransposed(order: Order, permutation: Sequence[int]) -> Order:
    """The order of x, from the order of `transpose(x, permutation)`; no byte moves."""
    return tuple(permutation[dim] for dim in order)


def selected(order: Order, dims: Sequence[int]) -> Order:
    """The order of some dimensions among themselves, which are then numbered as listed."""
    position = {dim: i for i, dim in enumerate(dims)}
    return tuple(position[dim] for dim in order if dim in position)


# The planner asks of each reshape several times.
@lru_cache(maxsize=4096)
def reshaped(dims: Dims, order: Order, to: Dims) -> Order | None:
    """The order for which a reshape moves no byte; None where there is none.

    A reshape keeps row-major numbers, so dimensions fall into groups of equal products on both
    sides: [6,4] and [2,3,4] into 6 = 2*3 and 4 = 4. No byte moves if every group lies in memory in
    one piece and row-major; the groups themselves may be in any order.

    References
    ----------
    XLA, `ShapeUtil::AlignLayouts` in `xla/shape_util.cc`.
    """
    if 0 in dims:
        return rows(len(to))
    groups = groups_of_many(dims, to)
    memory = [dim for dim in reversed(order) if dims[dim] != 1]
    result: list[int] = []
    while memory:
        before, after = next(group for group in groups if memory[0] in group[0])
        if tuple(memory[: len(before)]) != before:
            return None
        del memory[: len(before)]
        result += after
    for dim, size in enumerate(to):
        if size == 1:
            # Where it is does not matter; there, it keeps a row-major order row-major.
            result.insert(result.index(dim - 1) + 1 if dim else 0, dim)
    return tuple(reversed(result))
