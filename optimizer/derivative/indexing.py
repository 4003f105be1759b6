"""Derivatives of gather and scatter, and of sort, whose tangents follow its elements.

    y = gather(x, i)             x^ = scatter of y^ to the same places, added up
    y = scatter(x, i, u), add    x^ = y^,  u^ = gather of y^ from the same places
    y = scatter(x, i, u), set    x^ = y^ with zeros there; u^ = the same gather, where u has won
    y = sort(x)                  dy = dx in the order in which x was put

A gather clamps indices so that its slices lie inside; a scatter leaves out updates that do not.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo import attributes as a
from hlo.instruction import Computation
from hlo.types.element_type import PRED, S32
from hlo.types.shape import array, tuple_of
from optimizer.derivative.movement import Cotangents, adds
from optimizer.derivative.table import (
    Dual,
    Leaves,
    adder,
    again,
    differentiates,
    filled,
    linear_in,
    plain,
    refusal,
    transposes,
    zeros,
)
from optimizer.expanders.apply import applied, is_elementwise
from optimizer.expanders.op_expander import element
from optimizer.expanders.parts import counting, cut, equal, full, spread, to_dims
from optimizer.reducers import operation_of
from optimizer.rewriting.make import constant, make, splat, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

differentiates.define("gather", linear_in(0))


@transposes("gather")
def gather_back(instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]) -> Cotangents:
    """The cotangents of slices, added up where the slices are."""
    (ct,), (x, indices) = cotangents, instr.operands
    assert ct is not None
    attrs = a.Gather.of(instr)
    limits = [x.shape.dims[d] - attrs.slice_sizes[d] for d in attrs.start_index_map]
    if ct.opcode == "select" and is_all(ct.operands[2], 0) and tells_inside(ct.operands[0], instr):
        # Slices that do not lie inside count for nothing, and a scatter leaves them out.
        ct = ct.operands[1]
    else:
        indices = clamped(indices, limits, attrs.index_vector_dim)
    return [
        make(
            "scatter",
            zeros(x.shape),
            indices,
            ct,
            called=(adder(ct.shape.element_type),),
            update_window_dims=attrs.offset_dims,
            inserted_window_dims=attrs.collapsed_slice_dims,
            scatter_dims_to_operand_dims=attrs.start_index_map,
            input_batching_dims=attrs.operand_batching_dims,
            scatter_indices_batching_dims=attrs.start_indices_batching_dims,
            index_vector_dim=attrs.index_vector_dim,
            indices_are_sorted=attrs.indices_are_sorted,
        ),
        None,
    ]


def is_all(x: Instruction, number: int) -> bool:
    """Whether all elements are known to be a number."""
    value = value_of(x)
    return value is not None and bool(np.all(value == number))


def tells_inside(mask: Instruction, instr: Instruction) -> bool:
    """Whether a pred says of each element of a gather that its slice lies inside.

    JAX asks it so for what is filled where indices are out of bounds:

        all of (indices >= 0) & (indices <= limit) along each index vector
    """
    attrs, (x, indices) = a.Gather.of(instr), instr.operands
    if attrs.offset_dims:
        batch = [d for d in range(instr.shape.rank) if d not in attrs.offset_dims]
        if mask.opcode != "broadcast" or list(a.Broadcast.of(mask).dimensions) != batch:
            return False
        mask = mask.operands[0]
    if mask.opcode != "reduce" or operation_of(mask.called[0], mask) != "and":
        return False
    both, start = mask.operands
    axes = a.Dimensions.of(mask).dimensions
    limits = {x.shape.dims[d] - attrs.slice_sizes[d] for d in attrs.start_index_map}
    if axes != (attrs.index_vector_dim,) or not is_all(start, 1) or both.opcode != "and":
        return False
    bounds = [("GE", 0), *[("LE", limit) for limit in limits]]
    parts = {a.Compare.of(p).direction: p for p in both.operands if p.opcode == "compare"}
    return len(bounds) == len(parts) == 2 and all(
        direction in parts
        and parts[direction].operands[0] is indices
        and is_all(parts[direction].operands[1], bound)
        for direction, bound in bounds
    )


def clamped(indices: Instruction, limits: Sequence[int], axis: int) -> Instruction:
    """Index vectors whose components are at least 0, and at most some limits."""
    highest = highest_of_counter(indices)
    if highest is not None and highest <= min(limits, default=-1):
        return indices
    return make("clamp", full(0, indices), indices, vector(limits, indices, axis))


def highest_of_counter(numbers: Instruction) -> int | None:
    """The highest of numbers that count from 0, in any order, as a sort of an iota; else None."""
    while True:
        if numbers.opcode == "get-tuple-element" and numbers.operands[0].opcode == "sort":
            numbers = numbers.operands[0].operands[a.GetTupleElement.of(numbers).index]
        elif numbers.opcode in ("broadcast", "reshape", "reverse", "slice", "transpose", "sort"):
            numbers = numbers.operands[0]
        else:
            break
    if numbers.opcode != "iota":
        return None
    return numbers.shape.dims[a.Iota.of(numbers).iota_dimension] - 1


def vector(components: Sequence[int], indices: Instruction, axis: int) -> Instruction:
    """One index vector, in the place of all."""
    dims, dtype = indices.shape.dims, indices.shape.element_type.dtype
    if axis == len(dims) or len(set(components)) == 1:
        return full(components[0], indices)
    return spread(constant(np.asarray(components, dtype)), dims, (axis,))


@differentiates("scatter")
def scatter(instr: Instruction, tangents: Sequence[Leaves]) -> Leaves | Dual | Instruction | None:
    """The rule of the computation that combines updates with the operand."""
    if len(instr.operands) != 3:
        raise refusal(instr, "it has several operands")
    (x, indices, updates), ((dx,), _, (du,)) = instr.operands, tangents
    opcode = operation_of(instr.called[0], instr)
    if opcode == "add":
        if du is None:
            return dx
        return again(instr, filled(dx, x.shape), indices, du)
    if is_set(instr.called[0]):
        if is_unique(instr):
            return again(instr, filled(dx, x.shape), indices, filled(du, updates.shape))
        return of_winners(instr, dx, du)
    if opcode == "multiply" and (du is None or is_unique(instr)):
        return of_products(instr, dx, du)
    raise refusal(
        instr,
        f"updates of one element would be combined ({opcode or 'by several opcodes'})",
        "unique_indices=true says that there is one update for each element at most",
    )


def of_products(
    instr: Instruction, dx: Instruction | None, du: Instruction | None
) -> Instruction | None:
    """The tangent of elements that are multiplied by one update each, if theirs change."""
    x, indices, updates = instr.operands
    scaled = None if dx is None else again(instr, dx, indices, updates)
    if du is None:
        return scaled
    new = make("multiply", slices(instr, x), du)
    add = adder(x.shape.element_type)
    more = make("scatter", zeros(x.shape), indices, new, called=(add,), **fields(instr))
    return more if scaled is None else make("add", scaled, more)


def replacer(kind: ElementType) -> Computation:
    """The computation that replaces the first scalar by the second."""
    old, new = (make("parameter", shape=array(kind), number=k) for k in (0, 1))
    return Computation("replace", (old, new), new)


def is_set(computation: Computation) -> bool:
    """Whether a computation replaces the first scalar by the second."""
    return computation.root is computation.parameters[1]


def is_unique(instr: Instruction) -> bool:
    """Whether each element has one update at most."""
    attrs, indices = a.Scatter.of(instr), instr.operands[1].shape.dims
    vectors = [n for d, n in enumerate(indices) if d != attrs.index_vector_dim]
    return attrs.unique_indices or all(n == 1 for n in vectors)


def of_winners(instr: Instruction, dx: Instruction | None, du: Instruction | None) -> Instruction:
    """The tangent of a scatter whose updates replace each other.

    The updates' numbers are scattered in the same way; those that stay are the ones that count.

    References
    ----------
    JAX, `_scatter_jvp`.
    """
    x, indices, updates = instr.operands
    size = updates.shape.size
    numbers = to_dims(counting(S32, (size,), 0), updates.shape.dims)
    nobody = full(-1, zeros(x.shape.with_type(S32)))
    replaces = replacer(S32)
    winners = make("scatter", nobody, indices, numbers, called=(replaces,), **fields(instr))
    wins = equal(slices(instr, winners), numbers)
    operand = make("select", equal(winners, -1), filled(dx, x.shape), zeros(x.shape))
    new = make("select", wins, filled(du, updates.shape), zeros(updates.shape))
    add = adder(x.shape.element_type)
    return make("scatter", operand, indices, new, called=(add,), **fields(instr))


def fields(instr: Instruction) -> dict[str, Any]:
    """The attributes of a scatter, by name."""
    attrs = a.Scatter.of(instr)
    return {name: getattr(attrs, name) for name in attrs.__dataclass_fields__}


def slices(instr: Instruction, x: Instruction) -> Instruction:
    """The elements of an array that a scatter would update, in the shape of its updates."""
    attrs = a.Scatter.of(instr)
    return make(
        "gather",
        x,
        instr.operands[1],
        offset_dims=attrs.update_window_dims,
        collapsed_slice_dims=attrs.inserted_window_dims,
        start_index_map=attrs.scatter_dims_to_operand_dims,
        operand_batching_dims=attrs.input_batching_dims,
        start_indices_batching_dims=attrs.scatter_indices_batching_dims,
        index_vector_dim=attrs.index_vector_dim,
        slice_sizes=window_sizes(instr),
        indices_are_sorted=attrs.indices_are_sorted,
    )


def window_sizes(instr: Instruction) -> tuple[int, ...]:
    """The size of an update in each dimension of the operand."""
    attrs, (x, _, updates) = a.Scatter.of(instr), instr.operands
    gone = (*attrs.inserted_window_dims, *attrs.input_batching_dims)
    dims = [d for d in range(x.shape.rank) if d not in gone]
    sizes = [1] * x.shape.rank
    for d, window_dim in zip(dims, attrs.update_window_dims, strict=True):
        sizes[d] = updates.shape.dims[window_dim]
    return tuple(sizes)


def is_inside(instr: Instruction) -> Instruction:
    """For each element of a scatter's updates, whether the update is not left out."""
    attrs, (x, indices, updates) = a.Scatter.of(instr), instr.operands
    sizes, axis = window_sizes(instr), attrs.index_vector_dim
    limits = [x.shape.dims[d] - sizes[d] for d in attrs.scatter_dims_to_operand_dims]
    enough = make("compare", indices, full(0, indices), direction="GE")
    not_too_much = make("compare", indices, vector(limits, indices, axis), direction="LE")
    inside = make("and", enough, not_too_much)
    if axis < indices.shape.rank:
        rest = (*indices.shape.dims[:axis], *indices.shape.dims[axis + 1 :])
        parts = [to_dims(cut(inside, axis, k, k + 1), rest) for k in range(len(limits))]
        everywhere = splat(1, array(PRED, rest))
        inside = reduce(lambda p, q: make("and", p, q), parts) if parts else everywhere
    batch = [d for d in range(updates.shape.rank) if d not in attrs.update_window_dims]
    return spread(inside, updates.shape.dims, batch)


@transposes("scatter")
def scatter_back(instr: Instruction, cotangents: Leaves, linear: Sequence[bool]) -> Cotangents:
    """A gather for the updates; for the operand, all or a part of the cotangent."""
    (ct,), (_, indices, updates) = cotangents, instr.operands
    assert ct is not None
    to_updates = to_operand = None
    if linear[2]:
        read = slices(instr, ct)
        to_updates = make("select", is_inside(instr), read, zeros(read.shape))
    if linear[0] and adds_up(instr):
        to_operand = ct
    elif linear[0] and is_set(instr.called[0]):
        to_operand = again(instr, ct, indices, zeros(updates.shape))
    elif linear[0]:
        to_operand = again(instr, ct, indices, updates)
    return [to_operand, None, to_updates]


def adds_up(instr: Instruction) -> bool:
    """Whether a scatter adds its updates to its operand."""
    return adds(instr.called[0]) or operation_of(instr.called[0], instr) == "add"


def combined_first(instr: Instruction) -> Instruction | None:
    """A scatter of unique updates that are combined with the operand's elements before.

    scatter(x, i, u), f   =>   scatter(x, i, f(gather(x, i), u)), set

    None for one that has a rule as it is, or may update an element twice.
    """
    computation, opcode = instr.called[0], operation_of(instr.called[0], instr)
    if len(instr.operands) != 3 or opcode in ("add", "multiply") or is_set(computation):
        return None
    if not is_unique(instr) or not is_elementwise(computation):
        return None
    x, indices, updates = instr.operands
    (new,) = applied(computation, [slices(instr, x), updates])
    replaces = replacer(x.shape.element_type)
    return again(instr, x, indices, new, unique_indices=True).with_(called=(replaces,))


@differentiates("sort")
def sort(instr: Instruction, tangents: Sequence[Leaves]) -> Dual:
    """The tangents in the order of the elements, whose numbers are sorted with them."""
    (axis,), arrays = a.Sort.of(instr).dimensions, instr.operands
    numbers = counting(S32, arrays[0].shape.dims, axis)
    comparator = instr.called[0]
    more = tuple(
        make("parameter", shape=array(S32), number=2 * len(arrays) + k).with_(name=f"number.{k}")
        for k in (0, 1)
    )
    wider = Computation(comparator.name, (*comparator.instructions, *more), comparator.root)
    shape = tuple_of(*(plain(x.shape) for x in arrays), numbers.shape)
    both = instr.with_(
        name="sort",
        operands=(*arrays, numbers),
        shape=shape,
        called=(wider,),
        control_predecessors=(),
    )
    order = element(both, len(arrays))
    values = [element(both, k) for k in range(len(arrays))]
    value = make("tuple", *values) if instr.shape.is_tuple else values[0]
    sorted_tangents = tuple(None if t is None else along(t, order, axis) for (t,) in tangents)
    return Dual(value, sorted_tangents)


@differentiates("topk")
def topk(instr: Instruction, tangents: Sequence[Leaves]) -> Leaves:
    """The tangents of the elements that are found."""
    ((dx,),) = tangents
    assert dx is not None
    return along(dx, element(instr, 1), dx.shape.rank - 1), None


def along(x: Instruction, numbers: Instruction, axis: int) -> Instruction:
    """For each number of an array the element with that number along a dimension."""
    rank = x.shape.rank
    if not x.shape.size:
        return zeros(x.shape.with_dims(numbers.shape.dims))
    others = tuple(d for d in range(rank) if d != axis)
    return make(
        "gather",
        x,
        to_dims(numbers, (*numbers.shape.dims, 1)),
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
        index_vector_dim=rank,
        slice_sizes=(1,) * rank,
    )
