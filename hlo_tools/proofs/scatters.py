"""Elements of scatters: each is what it was, combined with every update whose window lies over it.

    y = scatter(x, s, u), to_apply=add, of f32[4]    y[2] is x[2], plus u[k] for each k if s[k] is 2

So scatters are written as elementwise opcodes, which the solver knows.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo.attributes import NO_ATTRS, Compare
from hlo.types.element_type import PRED
from hlo.types.limits import highest_of
from hlo_tools.proofs.numbering import leaves, numbers, scalar_operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo_tools.proofs.elements import Array, Ids
    from hlo_tools.proofs.numbering import Numbering, Value

# So many updates may come to an element, and to all elements together.
MOST_UPDATES, MOST_TOGETHER = 1 << 7, 1 << 16


@numbers("scatter")
def _scatter(
    here: Numbering, instr: Instruction, attrs: a.Scatter, operands: list[Ids], depth: int
) -> Value | None:
    half = len(operands) // 2
    arrays, updates, dims = operands[:half], operands[half + 1 :], operands[0].shape
    kind = instr.operands[half].shape.element_type
    dropped = (*attrs.inserted_window_dims, *attrs.input_batching_dims)
    dims_left = [d for d in range(len(dims)) if d not in dropped]
    axis = dict(zip(dims_left, attrs.update_window_dims, strict=True))
    sizes = [updates[0].shape[axis[d]] if d in axis else 1 for d in range(len(dims))]
    starts = starts_of(here, kind, attrs, operands[half])
    if not updates[0].size or not starts or max(dims) > highest_of(kind):
        return None
    batch, ways = updates[0].size // prod(sizes), prod(sizes[d] for d in starts)
    if batch * ways > MOST_UPDATES or batch * ways * prod(dims) > MOST_TOGETHER:
        return None
    wanted, fits, at = windows_over(dims, sizes, list(starts))
    batched = [i for i in range(updates[0].ndim) if i not in attrs.update_window_dims]
    news = [u.transpose([*batched, *axis.values()]).reshape(batch, -1) for u in updates]
    values = [x.reshape(-1).copy() for x in arrays]
    types = [operand.shape.element_type for operand in instr.operands[:half]]
    for k, way in np.ndindex(batch, ways):
        # The order of dimensions means nothing.
        order = sorted(starts, key=lambda d: int(starts[d][k]))
        places = {d: wanted[d][:, way] for d in order}
        which = fits[:, way].copy()
        comes = both(here, [equal(here, starts[d][k], places[d][which], kind) for d in order])
        possible = ~(here.elements.is_constant[comes] & (here.elements.first[comes] == 0))
        which[which], comes = possible, comes[possible]
        old = [value[which] for value in values]
        new = here.computed(
            instr.called[0], [*old, *(row[k, at[which, way]] for row in news)], depth
        )[0]
        for value, x, y, t in zip(values, leaves(new), old, types, strict=True):
            step = scalar_operation("select", NO_ATTRS, [PRED, t, t], t)
            value[which] = here.elementwise(step, NO_ATTRS, [comes, x, y])
    if batch > 1 and (attrs.indices_are_sorted or attrs.unique_indices):
        # Where the claim is false, the result may be anything.
        every = np.sort(np.stack(list(starts.values())), axis=0).tobytes()
        claim = ("claims", attrs.indices_are_sorted, attrs.unique_indices, every)
        values = [
            here.elements.number((*claim, t), t, x) for x, t in zip(values, types, strict=True)
        ]
    results = tuple(value.reshape(dims) for value in values)
    return results if instr.shape.is_tuple else results[0]


def equal(here: Numbering, start: Ids, places: Array, kind: ElementType) -> Ids:
    """Whether a start is some numbers."""
    attrs = Compare(direction="EQ")
    step = scalar_operation("compare", attrs, [kind, kind], PRED)
    known = here.elements.constants(places.astype(kind.dtype), kind)
    return here.elementwise(step, attrs, [np.broadcast_to(start, known.shape), known])


def both(here: Numbering, conditions: Sequence[Ids]) -> Ids:
    """Whether all conditions hold."""
    first, *rest = conditions
    for other in rest:
        step = scalar_operation("and", NO_ATTRS, [PRED, PRED], PRED)
        first = here.elementwise(step, NO_ATTRS, [first, other])
    return first


def windows_over(
    dims: Sequence[int], sizes: Sequence[int], moved: Sequence[int]
) -> tuple[dict[int, Array], Array, Array]:
    """The windows that lie over each element of an array, by the element's place in them.

    Returns
    -------
    tuple
        the start of the window in each dimension that an index moves it in; whether that window is
        inside; and the number of the place in it.
    """
    places: Array = np.indices(dims).reshape(len(dims), -1, 1)
    steps: Array = np.indices([sizes[d] for d in moved]).reshape(len(moved), 1, -1)
    step = dict(zip(moved, steps, strict=True))
    wanted = {d: places[d] - step[d] for d in moved}
    inside = [step.get(d, places[d]) for d in range(len(dims))]
    fits: Array = np.ones((places.shape[1], steps.shape[2]), np.bool_)
    for d, size in enumerate(sizes):
        start = wanted.get(d, np.zeros(1, np.int64))
        fits &= (start >= 0) & (start <= dims[d] - size) & (inside[d] < size)
    every = tuple(np.broadcast_arrays(*inside))
    number: Array = np.ravel_multi_index(every, tuple(sizes), mode="clip")
    return wanted, fits, np.broadcast_to(number, fits.shape)


def starts_of(here: Numbering, kind: ElementType, attrs: a.Scatter, indices: Ids) -> dict[int, Ids]:
    """The starts of windows by dimension of the operand."""
    axis = attrs.index_vector_dim
    vectors = np.moveaxis(indices, axis, -1) if axis < indices.ndim else indices[..., None]
    batch = vectors.shape[:-1]
    starts = {
        d: vectors[..., k].reshape(-1) for k, d in enumerate(attrs.scatter_dims_to_operand_dims)
    }
    pairs = zip(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, strict=True)
    for d, of_indices in pairs:
        counted = np.indices(batch)[of_indices - (of_indices > axis)].reshape(-1)
        starts[d] = here.elements.constants(counted.astype(kind.dtype), kind)
    return dict(sorted(starts.items()))
