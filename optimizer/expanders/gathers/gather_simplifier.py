"""Brings gathers into one form, so that later passes need know no other.

In that form the indices are a matrix whose rows are the index vectors, the vectors speak of the
first dimensions of the operand in order, no dimension of a slice is collapsed, and the slices come
after the batch: index_vector_dim=1, start_index_map={0,1,...}, collapsed_slice_dims={},
offset_dims={1,2,...}. Transposes and reshapes around the gather make up the difference.

    g = f32[5,8] gather(x, i), collapsed_slice_dims={0}, slice_sizes={1,8}, ...    of i: s32[5]

    r = s32[5,1] reshape(i)
    t = f32[5,1,8] gather(x, r), collapsed_slice_dims={}, slice_sizes={1,8}, ...
    g = f32[5,8] reshape(t)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Gather
from optimizer.expanders.gathers.batched_gather_scatter_normalizer import without_batching_gather
from optimizer.expanders.gathers.index_vectors import interleaved, inverse, rows_of
from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import permuted, to_dims
from optimizer.rewriting.guard import guard
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import ROOT, gather, x, y

if TYPE_CHECKING:
    from hlo.instruction import Instruction


def is_canonical(instr: Instruction) -> bool:
    """Whether a gather has the canonical form already."""
    attrs, (operand, indices) = Gather.of(instr), instr.operands
    return (
        indices.shape.rank == 2
        and attrs.index_vector_dim == 1
        and attrs.start_index_map == tuple(range(len(attrs.start_index_map)))
        and not attrs.collapsed_slice_dims
        and not attrs.operand_batching_dims
        and attrs.offset_dims == tuple(range(1, operand.shape.rank + 1))
    )


@expander(
    "gather_simplifier",
    gather(x, y),
    where=~guard(is_canonical)(ROOT),
    xla="xla/service/gather_simplifier.cc",
)
def canonical_gather(root: Instruction) -> Instruction | None:
    """Replaces gathers by gathers of the canonical form."""
    instr = without_batching_gather(root)
    operand, indices = instr.operands
    attrs, rank = Gather.of(instr), operand.shape.rank
    # A slice of size 0 may be collapsed, but not brought back.
    if 0 in attrs.slice_sizes:
        return None
    rows, batch = rows_of(indices, attrs.index_vector_dim)
    index_map = attrs.start_index_map
    order = [*index_map, *(d for d in range(rank) if d not in index_map)]
    gathered = make(
        "gather",
        permuted(operand, order),
        rows,
        offset_dims=tuple(range(1, rank + 1)),
        collapsed_slice_dims=(),
        start_index_map=tuple(range(len(index_map))),
        index_vector_dim=1,
        slice_sizes=tuple(attrs.slice_sizes[d] for d in order),
        indices_are_sorted=attrs.indices_are_sorted,
    )
    back = permuted(gathered, [0, *(1 + d for d in inverse(order))])
    dims = [attrs.slice_sizes[d] for d in range(rank) if d not in attrs.collapsed_slice_dims]
    split = to_dims(back, (*batch, *dims))
    return permuted(split, interleaved(split.shape.rank, attrs.offset_dims))
