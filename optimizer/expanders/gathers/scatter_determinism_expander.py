"""Combines the updates of one element before they are scattered, so that each gets one.

scatter(x, i, u), to_apply=f
    =>   i, u sorted by i;   u[j] = f(u[j-d], u[j]) where i[j-d] = i[j], for d = 1, 2, 4, ...;
         scatter(x, i where it is the last of its kind, u), to_apply=f, unique_indices=true

Threads that write to one element at once do so in any order, and sums of floats then differ from
run to run. Sorted, all that belongs together is neighbours, and log(n) steps fold it in a fixed
order.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import Scatter
from hlo.monoid import monoid_of
from hlo.types.element_type import S32
from hlo.types.limits import integer_range
from hlo.types.shape import array
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.apply import applied, is_elementwise
from optimizer.expanders.gathers.batched_gather_scatter_normalizer import without_batching_scatter
from optimizer.expanders.gathers.index_vectors import rows_of
from optimizer.expanders.gathers.scatter_expander import inside, updates_in_rows
from optimizer.expanders.op_expander import ExpansionSite, element, expander
from optimizer.expanders.parts import (
    counting,
    cut,
    equal,
    full,
    less,
    number,
    padded,
    spread,
    to_dims,
    to_type,
)
from optimizer.gpu.atomics import is_deterministic, is_sequential
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction


@expander(
    "scatter_determinism_expander",
    "scatter",
    promise=ROUNDING,
    xla="xla/service/scatter_determinism_expander.cc",
)
def scatter_once(
    site: ExpansionSite, *, unordered: bool = False, sequential: bool = False
) -> Instruction | None:
    """Replaces scatters by scatters that write to no element twice.

    Only of one array, by an associative operation, and of windows that can't overlap in part.

    Parameters
    ----------
    unordered : only scatters whose result would depend on the order of a GPU's threads.
    sequential : only scatters that a GPU would run on one thread. With both options, either kind.
    """
    wanted = not (unordered or sequential)
    wanted = wanted or (unordered and not is_deterministic(site.instr))
    wanted = wanted or (sequential and is_sequential(site.instr))
    if not wanted or not can_combine(site.instr):
        return None
    instr = without_batching_scatter(site.instr)
    attrs, (x, indices, updates) = Scatter.of(instr), instr.operands
    rows, _ = rows_of(indices, attrs.index_vector_dim)
    updates = updates_in_rows(updates, attrs, rows.shape.dims[0])
    bounds = [x.shape.dims[d] for d in attrs.scatter_dims_to_operand_dims]
    targets = numbered(rows, bounds)
    if targets is None:
        return None
    order = sorted_order(site, targets)
    targets, rows, updates = (in_order(operand, order) for operand in (targets, rows, updates))
    combined = combined_in_runs(instr.called[0], targets, updates)
    nowhere = full(integer_range(rows.shape.element_type)[1], rows)
    last = spread(is_last(targets), rows.shape.dims, (0,))
    return make(
        "scatter",
        x,
        make("select", last, rows, nowhere),
        combined,
        update_window_dims=tuple(range(1, updates.shape.rank)),
        inserted_window_dims=attrs.inserted_window_dims,
        scatter_dims_to_operand_dims=attrs.scatter_dims_to_operand_dims,
        index_vector_dim=1,
        unique_indices=True,
        called=instr.called,
    )


def can_combine(scatter: Instruction) -> bool:
    """Whether equal index vectors, and no others, stand for windows that overlap."""
    attrs, body = Scatter.of(scatter), scatter.called[0]
    replaces = body.root is body.parameters[-1]
    if len(scatter.operands) != 3 or attrs.unique_indices or not is_elementwise(body):
        return False
    if not (monoid_of(body) or replaces) or not attrs.scatter_dims_to_operand_dims:
        return False
    sizes = [scatter.operands[2].shape.dims[d] for d in attrs.update_window_dims]
    left_out = (*attrs.inserted_window_dims, *attrs.input_batching_dims)
    there = [d for d in range(scatter.operands[0].shape.rank) if d not in left_out]
    window = dict(zip(there, sizes, strict=True))
    return all(window.get(d, 1) == 1 for d in attrs.scatter_dims_to_operand_dims)


def numbered(rows: Instruction, bounds: list[int]) -> Instruction | None:
    """One s32 for each index vector: the row-major number of its element; past all if outside.

    Parameters
    ----------
    rows : shape (n, k)
    bounds : sizes of the k dimensions.

    Returns
    -------
    Instruction or None
        shape (n); None where there is nothing to combine, or too much.
    """
    count = rows.shape.dims[0]
    if count < 2 or 0 in bounds or prod(bounds) > integer_range(S32)[1]:
        return None
    columns = [to_dims(cut(rows, 1, j, j + 1), (count,)) for j in range(len(bounds))]
    valid = inside(columns, [(j, n - 1) for j, n in enumerate(bounds)])
    target = to_type(columns[0], S32)
    for column, bound in zip(columns[1:], bounds[1:], strict=True):
        target = make("add", make("multiply", target, bound), to_type(column, S32))
    return make("select", valid, target, full(prod(bounds), target))


def sorted_order(site: ExpansionSite, targets: Instruction) -> Instruction:
    """The permutation that sorts the indices. when targets are sorted; equal ones stay in order."""

    def before(one: Instruction, other: Instruction, *_: Instruction) -> Instruction:
        return less(one, other)

    comparator = site.computation("before", (array(S32),) * 4, before)
    both = (targets, counting(S32, targets.shape.dims, 0))
    return element(make("sort", *both, dimensions=(0,), is_stable=True, called=(comparator,)), 1)


def in_order(x: Instruction, order: Instruction) -> Instruction:
    """Rows of an array in another order."""
    window = x.shape.dims[1:]
    return make(
        "gather",
        x,
        to_dims(order, (*order.shape.dims, 1)),
        offset_dims=tuple(range(1, x.shape.rank)),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1, *window),
    )


def combined_in_runs(body: Computation, targets: Instruction, updates: Instruction) -> Instruction:
    """Each update combined with all before it that have the same target."""
    count, reach = targets.shape.dims[0], 1
    zero = number(0, updates.shape.element_type)
    while reach < count:
        earlier = padded(cut(targets, 0, 0, count - reach), number(-1), 0, reach, 0)
        same = spread(equal(earlier, targets), updates.shape.dims, (0,))
        behind = padded(cut(updates, 0, 0, count - reach), zero, 0, reach, 0)
        (both,) = applied(body, [behind, updates])
        updates = make("select", same, both, updates)
        reach *= 2
    return updates


def is_last(targets: Instruction) -> Instruction:
    """A mask of the last update of each target."""
    following = padded(cut(targets, 0, 1, targets.shape.dims[0]), number(-1), 0, 0, 1)
    return make("compare", targets, following, direction="NE")
