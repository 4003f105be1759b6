"""Gathering from values with run-time sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.types.element_type import S32, S64, U64
from optimizer.dynamic_padder.rules import remade, require, rule
from optimizer.dynamic_padder.values import Padded
from optimizer.expanders.parts import counting, equal, spread, to_type
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule("gather")
def gather(instr: Instruction, operand: Padded, indices: Padded) -> Padded:
    """A gather has a slice for each index vector; vectors that do not count read any elements."""
    attrs = a.Gather.of(instr)
    batch = [d for d in range(instr.shape.rank) if d not in attrs.offset_dims]
    vectors = [d for d in range(indices.value.shape.rank) if d != attrs.index_vector_dim]
    require(instr, set(indices.sizes) <= set(vectors), "its index vectors have a run-time size")
    sizes = {batch[vectors.index(d)]: size for d, size in indices.sizes.items()}
    dropped = (*attrs.collapsed_slice_dims, *attrs.operand_batching_dims)
    dims = [d for d in range(operand.value.shape.rank) if d not in dropped]
    result_dims = dict(zip(dims, attrs.offset_dims, strict=True))
    starts, read = indices.value, list[int]()
    for d, size in operand.sizes.items():
        if d in result_dims and instr.shape.dynamic_at(result_dims[d]):
            sizes[result_dims[d]] = size
        elif d in attrs.start_index_map:
            # A start is clamped so that the slice lies in the elements that count.
            read.append(d)
            last = make("maximum", make("subtract", size, attrs.slice_sizes[d]), 0)
            starts = clamped(starts, attrs, attrs.start_index_map.index(d), last)
    return remade(instr, [Padded(operand.zeroed(read)), Padded(starts)], sizes)


def clamped(starts: Instruction, attrs: a.Gather, component: int, last: Instruction) -> Instruction:
    """Index vectors of which one component goes no further than to a number."""
    starts = wide(starts)
    dims, axis = starts.shape.dims, attrs.index_vector_dim
    nearer = make("minimum", starts, spread(to_type(last, starts.shape.element_type), dims))
    if axis == len(dims):
        return nearer
    return make("select", equal(counting(S32, dims, axis), component), nearer, starts)


def wide(indices: Instruction) -> Instruction:
    """Indices in a type that holds every size."""
    element_type = indices.shape.element_type
    return indices if element_type is U64 else to_type(indices, S64)
