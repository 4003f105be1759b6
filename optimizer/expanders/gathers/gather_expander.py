"""Writes a gather as dynamic slices: one, or one for each index vector in a loop.

gather(x, i) with one index vector   =>   reshape(dynamic-slice(x, i[0], i[1], ...))

Gather and dynamic-slice move a start that is out of range alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Gather
from optimizer.expanders.gathers.batched_gather_scatter_normalizer import without_batching_gather
from optimizer.expanders.gathers.index_vectors import interleaved, row_at, rows_of, starts_of
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import permuted, to_dims
from optimizer.expanders.reductions.scan_expander import put_at
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("gather_expander", "gather", xla="xla/service/gather_expander.cc")
def gather_by_slices(site: ExpansionSite, *, simple: bool = False) -> Instruction | None:
    """Replaces gathers by dynamic slices.

    Parameters
    ----------
    simple : only those gathers that need no loop.
    """
    instr = without_batching_gather(site.instr)
    operand, indices = instr.operands
    attrs = Gather.of(instr)
    if 0 in operand.shape.dims or 0 in attrs.slice_sizes or 0 in instr.shape.dims:
        return None
    rows, batch = rows_of(indices, attrs.index_vector_dim)
    count, rank = rows.shape.dims[0], operand.shape.rank
    if simple and count > 1:
        return None
    sizes = attrs.slice_sizes
    dims = tuple(sizes[d] for d in range(rank) if d not in attrs.collapsed_slice_dims)

    def window(whole: Instruction, row: Instruction) -> Instruction:
        starts = starts_of(row, attrs.start_index_map, rank)
        return to_dims(make("dynamic-slice", whole, *starts, dynamic_slice_sizes=sizes), dims)

    def step(
        iteration: Instruction, whole: Instruction, rows: Instruction, result: Instruction
    ) -> list[Instruction]:
        return [whole, rows, put_at(result, 0, iteration, window(whole, row_at(rows, iteration)))]

    if count == 1:
        rows_read = window(operand, to_dims(rows, rows.shape.dims[1:]))
    else:
        empty = splat(0, operand.shape.with_dims((count, *dims)))
        rows_read = site.repeat(count, [operand, rows, empty], step)[-1]
    order = interleaved(len(batch) + len(dims), attrs.offset_dims)
    return permuted(to_dims(rows_read, (*batch, *dims)), order)
