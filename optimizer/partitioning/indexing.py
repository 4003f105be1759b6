"""Look-ups and updates in arrays that are cut along the dimension that indices are of.

A device holds rows 4p to 4p+3 of a table. It looks up the rows that it has, and has nothing (-0)
in the place of others; the sum over all devices is every row. An update that is not of a device's
rows has no effect there, as one past the end of an array.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.monoid import monoid_of
from hlo.types.element_type import S32, S64
from optimizer.expanders.parts import cut as slice_of
from optimizer.expanders.parts import full, less, number, padded, spread, to_dims, to_type
from optimizer.partitioning.communication import looked_up, neutral
from optimizer.partitioning.division import (
    STRATEGIES,
    DivisionSite,
    FactorPlan,
    Strategy,
    is_even,
    local_attrs,
    piece_of,
    rewritten,
)
from optimizer.partitioning.reductions import added_up, passes_or_sums, sums_moved
from optimizer.partitioning.sharding_rules import PASS_THROUGH, REDUCTION, Factor
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.partitioning.cuts import CutAxis


def _wide(indices: Instruction) -> Instruction:
    """Indices of a signed type in which differences can be had."""
    kind = indices.shape.element_type
    return to_type(indices, S64 if kind.bits > 32 else S32)


def _counted(start: Instruction, low: int, high: int) -> Instruction:
    """A scalar index, clamped."""
    wide = _wide(start)
    return make("clamp", splat(low, wide.shape), wide, splat(high, wide.shape))


def _own_start(start: Instruction, axis: CutAxis, block: int, last: int) -> Instruction:
    """An index into an array as one into a device's block, which may be outside of it."""
    clamped = _counted(start, 0, last)
    first = looked_up([place * block for place in axis.places])
    return make("subtract", clamped, to_type(first, clamped.shape.element_type))


# ---------------------------------------------------------------------- slices at run time


def _dynamic_slice(site: DivisionSite, plan: FactorPlan) -> Instruction:
    """The rows of a slice that a device has, and nothing in place of others."""
    part = piece_of(site, plan, 0)
    starts = [piece_of(site, plan, n) for n in range(1, len(site.operands))]
    cutting = plan.cutting(REDUCTION)
    if cutting:
        starts = [_wide(start) for start in starts]
    whole = site.operand(0).shape
    for factor, axis in cutting:
        dim = factor.operands[0] or 0
        size, block = site.results[0].dims[dim], part.shape.dims[dim]
        own = _own_start(starts[dim], axis, block, whole.dims[dim] - size)
        part = padded(part, neutral(whole.element_type), dim, size, size)
        starts[dim] = make("add", own, size)
    part_sliced = rewritten(site, plan, [part, *starts], local_attrs(site, plan, [part]))
    return added_up(site, plan, part_sliced)


STRATEGIES["dynamic-slice"] = Strategy(passes_or_sums, sums_moved, _dynamic_slice)


def _dynamic_update_slice(site: DivisionSite, plan: FactorPlan) -> Instruction:
    """The rows of an update that are a device's own."""
    part, update = piece_of(site, plan, 0), piece_of(site, plan, 1)
    starts = [piece_of(site, plan, n) for n in range(2, len(site.operands))]
    cutting = [(f, axis) for f, axis in plan.cutting(PASS_THROUGH) if f.operands[1] is None]
    if cutting:
        starts = [_wide(start) for start in starts]
    whole, sizes = site.operand(0).shape, part.shape.dims
    for factor, axis in cutting:
        dim = factor.operands[0] or 0
        size = update.shape.dims[dim]
        own = _own_start(starts[dim], axis, sizes[dim], whole.dims[dim] - size)
        part = padded(part, neutral(whole.element_type), dim, size, size)
        starts[dim] = make("add", own, size)
    updated = make("dynamic-update-slice", part, update, *starts)
    for factor, _ in cutting:
        dim = factor.operands[0] or 0
        size = update.shape.dims[dim]
        updated = slice_of(updated, dim, size, size + sizes[dim])
    return updated


STRATEGIES["dynamic-update-slice"] = Strategy(parts=_dynamic_update_slice)


# ----------------------------------------------------------------------- gather and scatter


def _column(indices: Instruction, vector_dim: int, place: int) -> Instruction:
    """One number of each index, with a dimension of size 1 for them."""
    if vector_dim == indices.shape.rank:
        return indices
    return slice_of(indices, vector_dim, place, place + 1)


def _shifted(indices: Instruction, vector_dim: int, shifts: dict[int, Instruction]) -> Instruction:
    """Indices with other columns.

    Parameters
    ----------
    shifts : the new columns, by their place.
    """
    if vector_dim == indices.shape.rank:
        return shifts.get(0, indices)
    count = indices.shape.dims[vector_dim]
    columns = [shifts.get(n) or _column(indices, vector_dim, n) for n in range(count)]
    return columns[0] if count == 1 else make("concatenate", *columns, dimensions=(vector_dim,))


def _first_row(axis: CutAxis, block: int, like: Instruction) -> Instruction:
    """The first row of a device's block, everywhere in a shape."""
    first = looked_up([place * block for place in axis.places])
    return spread(to_type(first, like.shape.element_type), like.shape.dims)


def _looks_up(site: DivisionSite, factor: Factor, _axis: CutAxis) -> bool:
    if factor.kind == PASS_THROUGH:
        return True
    return factor.operands[0] in a.Gather.of(site.instr).start_index_map


def _gather(site: DivisionSite, plan: FactorPlan) -> Instruction:
    attrs, (table, indices) = a.Gather.of(site.instr), (piece_of(site, plan, n) for n in range(2))
    result = plan.result(site).local(site.results[0])
    offsets = iter(attrs.offset_dims)
    gone = {*attrs.collapsed_slice_dims, *attrs.operand_batching_dims}
    sizes = tuple(
        size if d in gone else result.dims[next(offsets)]
        for d, size in enumerate(attrs.slice_sizes)
    )
    cutting, vector = plan.cutting(REDUCTION), attrs.index_vector_dim
    attrs = replace(attrs, slice_sizes=sizes)
    if not cutting:
        return rewritten(site, plan, [table, indices], attrs)
    indices = _wide(indices)
    columns: dict[int, Instruction] = {}
    here: Instruction | None = None
    for factor, axis in cutting:
        dim = factor.operands[0] or 0
        place = attrs.start_index_map.index(dim)
        column, block = _column(indices, vector, place), table.shape.dims[dim]
        last = site.operand(0).shape.dims[dim] - 1
        column = make("clamp", full(0, column), column, full(last, column))
        own = columns[place] = make("subtract", column, _first_row(axis, block, column))
        inside = make("and", make("compare", own, 0, direction="GE"), less(own, block))
        here = inside if here is None else make("and", here, inside)
    assert here
    own_indices = _shifted(indices, vector, columns)
    attrs = replace(attrs, indices_are_sorted=False)
    rows = rewritten(site, plan, [table, own_indices], attrs)
    dims = [n for d, n in enumerate(here.shape.dims) if d != vector]
    batch = [d for d in range(result.rank) if d not in attrs.offset_dims]
    shown = spread(to_dims(here, dims), result.dims, batch)
    nothing = spread(neutral(result.element_type), result.dims)
    return added_up(site, plan, make("select", shown, rows, nothing))


STRATEGIES["gather"] = Strategy(_looks_up, sums_moved, _gather)


def _identity(site: DivisionSite) -> Instruction | None:
    """The scalar with which a scatter leaves elements as they are; None if it is not known."""
    kind, monoid = site.results[0].element_type, monoid_of(site.instr.called[0])
    if len(site.results) > 1 or monoid is None or (kind.is_complex and monoid.opcode != "add"):
        return None
    value = monoid.identity(kind)
    return None if value is None else number(value, kind)


def _scatters(site: DivisionSite, factor: Factor, axis: CutAxis) -> bool:
    attrs = a.Scatter.of(site.instr)
    if factor.kind == REDUCTION:
        return is_even(site, factor, axis) and _identity(site) is not None
    if factor.operands[0] in attrs.inserted_window_dims:
        return factor.operands[0] in attrs.scatter_dims_to_operand_dims
    return factor.kind == PASS_THROUGH


def _scatter(site: DivisionSite, plan: FactorPlan) -> Instruction:
    attrs, count = a.Scatter.of(site.instr), len(site.results)
    operands = [piece_of(site, plan, n) for n in range(len(site.operands))]
    indices, vector = operands[count], attrs.index_vector_dim
    columns: dict[int, Instruction] = {}
    for factor, axis in plan.cutting(PASS_THROUGH):
        dim = factor.operands[0]
        if dim in attrs.inserted_window_dims and factor.operands[count] is None:
            indices = _wide(indices)
            place = attrs.scatter_dims_to_operand_dims.index(dim)
            column = _column(indices, vector, place)
            first = _first_row(axis, operands[0].shape.dims[dim], column)
            columns[place] = make("subtract", column, first)
    if columns:
        operands[count] = _shifted(indices, vector, columns)
        attrs = replace(attrs, indices_are_sorted=False)
    summed = tuple(axis for _, axis in plan.cutting(REDUCTION))
    if not summed:
        return rewritten(site, plan, operands, attrs)
    # One device of each group begins with the operand, others with nothing.
    nothing = _identity(site)
    assert nothing, "a fold that is known"
    begins = [int(not any(axis.places[d] for axis in summed)) for d in range(site.network.grid[1])]
    first = spread(make("compare", looked_up(begins), 0, direction="NE"), operands[0].shape.dims)
    operands[0] = make("select", first, operands[0], spread(nothing, operands[0].shape.dims))
    return added_up(site, plan, rewritten(site, plan, operands, attrs), site.instr.called[0])


STRATEGIES["scatter"] = Strategy(_scatters, sums_moved, _scatter)
