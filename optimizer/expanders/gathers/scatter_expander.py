"""Writes a scatter as dynamic slices that are read, combined with an update, and written back.

scatter(x, i, u), to_apply=f
    =>   for each index vector i:   if the window at i lies in x:   x[i] = f(x[i], u)

Dynamic slices are moved where they lie outside; then what is written back is what was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Scatter
from hlo.types.element_type import S32
from optimizer.expanders.apply import applied, is_elementwise
from optimizer.expanders.gathers.batched_gather_scatter_normalizer import without_batching_scatter
from optimizer.expanders.gathers.index_vectors import row_at, rows_of, starts_of
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import permuted, spread, to_dims, to_type
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction


@expander("scatter_expander", "scatter", xla="xla/service/scatter_expander.cc")
def scatter_by_updates(site: ExpansionSite, *, simple: bool = False) -> Instruction | None:
    """Replaces scatters by dynamic slices.

    Parameters
    ----------
    simple : only those scatters that need no loop.
    """
    instr = without_batching_scatter(site.instr)
    attrs, body = Scatter.of(instr), instr.called[0]
    half = len(instr.operands) // 2
    arrays, all_updates = instr.operands[:half], instr.operands[half + 1 :]
    dims = arrays[0].shape.dims
    if 0 in dims or 0 in all_updates[0].shape.dims or not is_elementwise(body):
        return None
    rows, _ = rows_of(instr.operands[half], attrs.index_vector_dim)
    count = rows.shape.dims[0]
    if simple and count > 1:
        return None
    updates = [updates_in_rows(u, attrs, count) for u in all_updates]
    window = iter(updates[0].shape.dims[1:])
    sizes = tuple(1 if d in attrs.inserted_window_dims else next(window) for d in range(len(dims)))

    def update(
        targets: Sequence[Instruction], row: Instruction, news: Sequence[Instruction]
    ) -> list[Instruction]:
        index_map = attrs.scatter_dims_to_operand_dims
        starts = starts_of(row, index_map, len(dims))
        limits = [(d, dims[d] - sizes[d]) for d in index_map]
        olds = [make("dynamic-slice", x, *starts, dynamic_slice_sizes=sizes) for x in targets]
        combined = applied(body, [*olds, *(to_dims(new, sizes) for new in news)])
        if limits:
            valid = spread(inside(starts, limits), sizes)
            pairs = zip(combined, olds, strict=True)
            combined = [make("select", valid, new, old) for new, old in pairs]
        pairs = zip(targets, combined, strict=True)
        return [make("dynamic-update-slice", x, new, *starts) for x, new in pairs]

    def step(iteration: Instruction, rows: Instruction, *state: Instruction) -> list[Instruction]:
        news = [row_at(u, iteration) for u in state[:half]]
        return [rows, *state[:half], *update(state[half:], row_at(rows, iteration), news)]

    if count == 1:
        news = [to_dims(u, u.shape.dims[1:]) for u in updates]
        results = update(arrays, to_dims(rows, rows.shape.dims[1:]), news)
    else:
        results = site.repeat(count, [rows, *updates, *arrays], step)[1 + half :]
    return make("tuple", *results) if instr.shape.is_tuple else results[0]


def updates_in_rows(updates: Instruction, attrs: Scatter, count: int) -> Instruction:
    """Updates with one dimension for the index vectors, in front of those of the window."""
    window = attrs.update_window_dims
    batch = [d for d in range(updates.shape.rank) if d not in window]
    ordered = permuted(updates, [*batch, *window])
    return to_dims(ordered, (count, *ordered.shape.dims[len(batch) :]))


def inside(starts: Sequence[Instruction], limits: Sequence[tuple[int, int]]) -> Instruction:
    """The condition that a start is in range in each of some dimensions."""
    conditions: list[Instruction] = []
    for d, limit in limits:
        narrow = starts[d].shape.element_type.bits < 32
        start = to_type(starts[d], S32) if narrow else starts[d]
        conditions.append(make("compare", start, 0, direction="GE"))
        conditions.append(make("compare", start, limit, direction="LE"))
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = make("and", whole, condition)
    return whole
