"""Brings scatters into one form, so that later passes need know no other.

In that form the indices are a matrix whose rows are the index vectors, the vectors speak of the
first dimensions of the operand in order, and the updates are whole windows after the batch:
index_vector_dim=1, scatter_dims_to_operand_dims={0,1,...}, inserted_window_dims={},
update_window_dims={1,2,...}. Transposes and reshapes around the scatter make up the difference.

    s = f32[9,8] scatter(x, i, u), inserted_window_dims={0}, ...    of i: s32[5], u: f32[5,8]

    r = s32[5,1] reshape(i)
    v = f32[5,1,8] reshape(u)
    s = f32[9,8] scatter(x, r, v), inserted_window_dims={}, ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Scatter
from optimizer.expanders.gathers.batched_gather_scatter_normalizer import without_batching_scatter
from optimizer.expanders.gathers.index_vectors import inverse, rows_of
from optimizer.expanders.gathers.scatter_expander import updates_in_rows
from optimizer.expanders.op_expander import elements, expander
from optimizer.expanders.parts import permuted, to_dims
from optimizer.rewriting.guard import guard
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import ROOT, scatter, xs

if TYPE_CHECKING:
    from hlo.instruction import Instruction


def is_canonical(instr: Instruction) -> bool:
    """Whether a scatter has the canonical form already."""
    attrs, operand = Scatter.of(instr), instr.operands[0]
    index_map = attrs.scatter_dims_to_operand_dims
    return (
        instr.operands[len(instr.operands) // 2].shape.rank == 2
        and attrs.index_vector_dim == 1
        and index_map == tuple(range(len(index_map)))
        and not attrs.inserted_window_dims
        and not attrs.input_batching_dims
        and attrs.update_window_dims == tuple(range(1, operand.shape.rank + 1))
    )


@expander(
    "scatter_simplifier",
    scatter(xs),
    where=~guard(is_canonical)(ROOT),
    xla="xla/service/scatter_simplifier.cc",
)
def canonical_scatter(root: Instruction, xs: tuple[Instruction, ...]) -> Instruction | None:
    """Replaces scatters by scatters of the canonical form."""
    # A window does not fit into a dimension of size 0, unless it is left out.
    if 0 in xs[0].shape.dims:
        return None
    instr = without_batching_scatter(root)
    attrs, half = Scatter.of(instr), len(instr.operands) // 2
    rank, index_map = instr.operands[0].shape.rank, attrs.scatter_dims_to_operand_dims
    rows, _ = rows_of(instr.operands[half], attrs.index_vector_dim)
    order = [*index_map, *(d for d in range(rank) if d not in index_map)]
    news = [canonical_updates(u, attrs, order, rows) for u in instr.operands[half + 1 :]]
    scattered = make(
        "scatter",
        *(permuted(x, order) for x in instr.operands[:half]),
        rows,
        *news,
        update_window_dims=tuple(range(1, rank + 1)),
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=tuple(range(len(index_map))),
        index_vector_dim=1,
        indices_are_sorted=attrs.indices_are_sorted,
        unique_indices=attrs.unique_indices,
        called=instr.called,
    )
    if not instr.shape.is_tuple:
        return permuted(scattered, inverse(order))
    return make("tuple", *(permuted(x, inverse(order)) for x in elements(scattered)))


def canonical_updates(
    updates: Instruction, attrs: Scatter, order: list[int], rows: Instruction
) -> Instruction:
    """Updates as whole windows after one dimension of the batch, in an order of dimensions."""
    in_rows = updates_in_rows(updates, attrs, rows.shape.dims[0])
    window = iter(in_rows.shape.dims[1:])
    inserted = attrs.inserted_window_dims
    whole = [1 if d in inserted else next(window) for d in range(len(order))]
    windows = to_dims(in_rows, (in_rows.shape.dims[0], *whole))
    return permuted(windows, [0, *(1 + d for d in order)])
