"""Spells out the batching dimensions of gathers and scatters in their indices.

A batching dimension says that operand and indices count along with each other. Without it, each
index vector says by itself which index of the batch it is at:

gather(x, i), batching dim 0   =>   gather(x, concatenate(iota, i)), start_index_map={0,...}
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo import attributes as a
from optimizer.expanders.gathers.index_vectors import with_batch_indices
from optimizer.expanders.op_expander import ExpansionSite, expander

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "batched_gather_scatter_normalizer",
    "gather",
    "scatter",
    xla="xla/service/batched_gather_scatter_normalizer.cc",
)
def normalize(site: ExpansionSite) -> Instruction:
    """Replaces gathers and scatters with batching dimensions by ones without."""
    instr = site.instr
    gathers = instr.opcode == "gather"
    return without_batching_gather(instr) if gathers else without_batching_scatter(instr)


def without_batching_gather(instr: Instruction) -> Instruction:
    """A gather whose batching dimensions became elements of the index vectors."""
    attrs, (operand, indices) = a.Gather.of(instr), instr.operands
    batching = attrs.operand_batching_dims
    if not batching:
        return instr
    of_indices = attrs.start_indices_batching_dims
    normal = replace(
        attrs,
        collapsed_slice_dims=tuple(sorted((*attrs.collapsed_slice_dims, *batching))),
        start_index_map=(*batching, *attrs.start_index_map),
        operand_batching_dims=(),
        start_indices_batching_dims=(),
        indices_are_sorted=False,
    )
    vectors = with_batch_indices(indices, attrs.index_vector_dim, of_indices)
    return instr.with_(operands=(operand, vectors), attrs=normal)


def without_batching_scatter(instr: Instruction) -> Instruction:
    """A scatter whose batching dimensions became elements of the index vectors."""
    attrs, half = a.Scatter.of(instr), len(instr.operands) // 2
    batching = attrs.input_batching_dims
    if not batching:
        return instr
    of_indices = attrs.scatter_indices_batching_dims
    normal = replace(
        attrs,
        inserted_window_dims=tuple(sorted((*attrs.inserted_window_dims, *batching))),
        scatter_dims_to_operand_dims=(*batching, *attrs.scatter_dims_to_operand_dims),
        input_batching_dims=(),
        scatter_indices_batching_dims=(),
        indices_are_sorted=False,
    )
    vectors = with_batch_indices(instr.operands[half], attrs.index_vector_dim, of_indices)
    operands = (*instr.operands[:half], vectors, *instr.operands[half + 1 :])
    return instr.with_(operands=operands, attrs=normal)
