"""Gather and scatter on values with run-time sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emit_c.dynamic.rules import need, remade, rule, several
from emit_c.dynamic.values import Padded, Tree
from hlo.element_type import S32, S64, U64
from optimizer.expanders.parts import counting, equal, number, spread, to_type
from optimizer.make import make

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Instruction


@rule("gather")
def gather(instr: Instruction, operand: Padded, indices: Padded) -> Padded:
    """As many slices as there are index vectors; those behind read what is there."""
    attrs: a.Gather = instr.attrs  # type: ignore[assignment]
    batch = [d for d in range(instr.shape.rank) if d not in attrs.offset_dims]
    vectors = [d for d in range(indices.value.shape.rank) if d != attrs.index_vector_dim]
    need(instr, set(indices.sizes) <= set(vectors), "its index vectors have a run-time size")
    sizes = {batch[vectors.index(d)]: size for d, size in indices.sizes.items()}
    dropped = (*attrs.collapsed_slice_dims, *attrs.operand_batching_dims)
    kept = [d for d in range(operand.value.shape.rank) if d not in dropped]
    places = dict(zip(kept, attrs.offset_dims, strict=True))
    starts, read = indices.value, list[int]()
    for d, size in operand.sizes.items():
        if d in places and instr.shape.dynamic_at(places[d]):
            sizes[places[d]] = size
        elif d in attrs.start_index_map:
            # A start is clamped so that the slice lies in what counts.
            read.append(d)
            last = make("maximum", make("subtract", size, attrs.slice_sizes[d]), 0)
            starts = clamped(starts, attrs, attrs.start_index_map.index(d), last)
    return remade(instr, [Padded(operand.zeroed(read)), Padded(starts)], sizes)


def clamped(starts: Instruction, attrs: a.Gather, place: int, last: Instruction) -> Instruction:
    """Index vectors of which one component goes no further than to a number."""
    starts = wide(starts)
    dims, axis = starts.shape.dims, attrs.index_vector_dim
    nearer = make("minimum", starts, spread(to_type(last, starts.shape.element_type), dims))
    if axis == len(dims):
        return nearer
    return make("select", equal(counting(S32, dims, axis), place), nearer, starts)


def wide(indices: Instruction) -> Instruction:
    """Indices in a type that holds every size."""
    element_type = indices.shape.element_type
    return indices if element_type is U64 else to_type(indices, S64)


@rule("scatter")
def scatter(instr: Instruction, *operands: Padded) -> Tree:
    """Index vectors that do not count point nowhere, so that nothing is written for them."""
    attrs: a.Scatter = instr.attrs  # type: ignore[assignment]
    count = len(operands) // 2
    arrays, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    rank = indices.value.shape.rank
    vectors = [d for d in range(rank) if d != attrs.index_vector_dim]
    batch = [d for d in range(updates[0].value.shape.rank) if d not in attrs.update_window_dims]
    need(instr, set(indices.sizes) <= set(vectors), "its index vectors have a run-time size")
    need(instr, not any(o.sizes for o in arrays), "it writes into dimensions of run-time size")
    sizeless = not any(o.sizes for o in (indices, *updates))
    nowhere = indices.value if sizeless else wide(indices.value)
    for sized in (Padded(nowhere, indices.sizes), *updates):
        places = vectors if sized.value is nowhere else batch
        need(instr, set(sized.sizes) <= set(places), "its windows have a run-time size")
        moved = {vectors[places.index(d)]: size for d, size in sized.sizes.items()}
        fill = number(-1, nowhere.shape.element_type)
        nowhere = Padded(nowhere, moved).masked(fill)
    values = [*(o.value for o in arrays), nowhere, *(o.value for o in updates)]
    return several(instr, values, {})
