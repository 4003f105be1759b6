"""Writes transposes of few dimensions: those that move together become one, those of size 1 go.

    f32[4,2,3] transpose(f32[2,3,4] x), dimensions={2,0,1}
        =>   f32[4,2,3] bitcast(f32[4,6] transpose(f32[6,4] bitcast(x), {1,0}))

Most transposes are then one of two kinds, which tiles of a GPU's shared memory are made for: {1,0},
and {0,2,1} or {2,1,0} with more around it. Only row-major arrays, so after layout normalization.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import expander
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import p, transpose, x

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@expander(
    "transpose-dimension-grouper",
    transpose(x, p),
    xla="xla/service/gpu/transforms/transpose_dimension_grouper.cc",
)
def group_dimensions(root: Instruction, x: Instruction, p: tuple[int, ...]) -> Instruction | None:
    """Merges dimensions of transposes that stay neighbours."""
    if not (root.shape.is_row_major and x.shape.is_row_major) or 0 in root.shape.dims:
        return None
    groups = moving_together(p, x.shape.dims)
    if len(groups) == root.shape.rank:
        return None
    order = sorted(range(len(groups)), key=lambda i: groups[i])
    sizes = [prod(x.shape.dims[d] for d in groups[i]) for i in order]
    grouped = _read(x, x.shape.with_dims(tuple(sizes)))
    permutation = tuple(order.index(i) for i in range(len(groups)))
    if permutation != tuple(range(len(groups))):
        permuted = grouped.shape.with_dims(tuple(sizes[i] for i in permutation))
        grouped = make("transpose", grouped, shape=permuted, dimensions=permutation)
    return _read(grouped, root.shape)


def moving_together(permutation: Sequence[int], dims: Sequence[int]) -> list[list[int]]:
    """The operand's dimensions in the result's order, in runs that were neighbours before too."""
    long_dims = [d for d, size in enumerate(dims) if size != 1]
    follower = dict(pairwise(long_dims))
    groups: list[list[int]] = []
    for dim in permutation:
        if dims[dim] == 1:
            continue
        if groups and follower.get(groups[-1][-1]) == dim:
            groups[-1].append(dim)
        else:
            groups.append([dim])
    return groups


def _read(value: Instruction, shape: Shape) -> Instruction:
    """The same memory under another shape."""
    bare = shape.with_dims(shape.dims)
    return value if value.shape.dims == bare.dims else make("bitcast", value, shape=bare)
