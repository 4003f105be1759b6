"""Elements at places that are known at run time only: slices, updates and gathers.

An element of such a result is one of a few, as the starts decide:

    y = dynamic-slice(x, s), sizes {2}, of f32[4]    y[0] is x[0], x[1] or x[2], for s of 0, 1 or 2

So it follows from the starts and from the elements that it may be, whatever else is in the array.
The interpreter says which these are: it runs the instruction once for each place.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo_tools.proofs.numbering import numbers
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo_tools.proofs.elements import Ids
    from hlo_tools.proofs.numbering import Numbering, Value

# So many places times elements are looked at, and so many places.
MOST_LOOKED_AT, MOST_PLACES = 1 << 16, 64


@numbers("dynamic-slice", "dynamic-update-slice")
def _slice(
    here: Numbering, instr: Instruction, attrs: a.Attrs, operands: list[Ids], _: int
) -> Value | None:
    count = 2 if instr.opcode == "dynamic-update-slice" else 1
    moved, starts = operands[:count], operands[count:]
    sizes = instr.operands[1].shape.dims if count == 2 else instr.shape.dims
    types = [operand.shape.element_type for operand in instr.operands[count:]]
    limits = [n - size for n, size in zip(moved[0].shape, sizes, strict=True)]
    # As XLA wrote them once, all starts are one array.
    is_array = len(starts) == 1 and starts[0].ndim == 1
    if is_array:
        types *= len(limits)
        starts = [starts[0][k, ...] for k in range(len(limits))]

    def at(place: Sequence[int]) -> Ids:
        starts_typed = [np.array(x, t.dtype) for x, t in zip(place, types, strict=True)]
        asked = [np.stack(starts_typed)] if is_array else starts_typed
        return np.asarray(evaluates[instr.opcode](instr, attrs, *moved, *asked))

    return looked_up(here, instr, starts, types, limits, at)


@numbers("gather")
def _gather(
    here: Numbering, instr: Instruction, attrs: a.Gather, operands: list[Ids], _: int
) -> Value | None:
    x, indices = operands
    kind, axis = instr.operands[1].shape.element_type, attrs.index_vector_dim
    if here.elements.is_constant[indices].all():
        known = here.elements.values(indices.reshape(-1), kind).reshape(indices.shape)
        return np.asarray(evaluates["gather"](instr, attrs, x, known))
    vectors = np.moveaxis(indices, axis, -1) if axis < indices.ndim else indices[..., None]
    dims = iter(vectors.shape[:-1])
    batch = [1 if d in attrs.offset_dims else next(dims) for d in range(instr.shape.rank)]
    starts = [vectors[..., k].reshape(batch) for k in range(vectors.shape[-1])]
    limits = [x.shape[d] - attrs.slice_sizes[d] for d in attrs.start_index_map]

    def at(place: Sequence[int]) -> Ids:
        every = np.broadcast_to(np.array(place, kind.dtype), vectors.shape)
        index_rows = np.moveaxis(every, -1, axis) if axis < indices.ndim else every[..., 0]
        return np.asarray(evaluates["gather"](instr, attrs, x, index_rows))

    return looked_up(here, instr, starts, [kind] * len(starts), limits, at)


def looked_up(
    here: Numbering,
    instr: Instruction,
    starts: Sequence[Ids],
    types: Sequence[ElementType],
    limits: Sequence[int],
    at: Callable[[Sequence[int]], Ids],
) -> Ids | None:
    """The elements of a result, each of which is one of those at some places.

    Parameters
    ----------
    starts : for each element of the result, in arrays that are broadcast to its shape.
    types : of the starts.
    limits : the highest starts; one beyond them counts as the nearest.
    at : the result for known starts.
    """
    ranges = [range(limit + 1) for limit in limits]
    for k, (start, kind) in enumerate(zip(starts, types, strict=True)):
        if start.size and here.elements.is_constant[start].all() and (start == start.flat[0]).all():
            value = int(here.elements.values(start.reshape(-1)[:1], kind)[0])
            value = min(max(value, 0), limits[k])
            ranges[k] = range(value, value + 1)
    dims, places = instr.shape.dims, prod(map(len, ranges))
    if places > 1 and (places > MOST_PLACES or places * prod(dims) > MOST_LOOKED_AT):
        return None
    firsts, sizes = [r.start for r in ranges], [len(r) for r in ranges]
    every = [np.add(firsts, steps).tolist() for steps in np.ndindex(*sizes)]
    candidates = np.stack([at(place).reshape(-1) for place in every], axis=1)
    open_starts = [k for k, size in enumerate(sizes) if size > 1]
    ids = candidates[:, 0].copy()
    differ = (candidates != candidates[:, :1]).any(axis=1)
    if differ.any():
        deciding = [np.broadcast_to(starts[k], dims).reshape(-1) for k in open_starts]
        rows = np.concatenate([np.stack(deciding, axis=1), candidates], axis=1)
        bounds = tuple((sizes[k] - 1, types[k]) for k in open_starts)
        kind = instr.shape.element_type
        ids[differ] = here.elements.of_rows(("one of", bounds), kind, rows[differ])
    return ids.reshape(dims)
