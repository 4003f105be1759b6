"""Opcodes that move elements about, on values with run-time sizes."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.types.element_type import S32
from hlo.types.grouping import common_factors
from hlo.types.values import PaddingDim
from optimizer.dynamic_padder.indexed import wide
from optimizer.dynamic_padder.rules import Sizes, bounded, common, remade, require, rule, within
from optimizer.dynamic_padder.values import Padded, static
from optimizer.expanders.parts import counting, cut, number, padded, spread, to_dims, to_type
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction


@rule("reshape")
def reshape(instr: Instruction, operand: Padded) -> Padded:
    """A dimension that stays as it is keeps its size; one that is split or joined gets another."""
    attrs = a.Reshape.of(instr)
    before, after = operand.value.shape.dims, instr.shape.dims
    sizes: Sizes = {}
    in_place = True
    groups = common_factors(before, after) if instr.shape.size else ()
    for left, right in groups:
        sized = [d for d in left if d in operand.sizes]
        if not sized:
            continue
        dynamic = [d for d in right if instr.shape.dynamic_at(d)]
        require(instr, bool(dynamic), "it joins a dimension of run-time size to one that has none")
        at = attrs.inferred_dimension if attrs.inferred_dimension in dynamic else dynamic[0]
        there = number(prod(before[d] for d in left if d not in sized))
        for d in sized:
            there = make("multiply", there, operand.sizes[d])
        others = prod(after[d] for d in right if d != at)
        sizes[at] = within(make("divide", there, others), after[at])
        # Valid elements stay in front where only the outermost dimension of each side is cut off.
        outer = all(before[d] == 1 for d in left if d < sized[-1])
        in_place &= outer and all(after[d] == 1 for d in right if d < at)
    if in_place:
        return remade(instr, [operand], sizes)
    return packed(instr, operand, sizes)


@rule("dynamic-reshape")
def dynamic_reshape(instr: Instruction, operand: Padded, *sizes: Padded) -> Padded:
    """The elements that count, in their order, under other sizes."""
    return packed(instr, operand, bounded(instr, sizes))


def packed(instr: Instruction, operand: Padded, sizes: Sizes) -> Padded:
    """The elements that count, in their order, under sizes within their bounds."""
    dims = instr.shape.dims
    if not operand.value.shape.size:
        return Padded(splat(0, static(instr.shape)), sizes)
    element = spread(number(0), dims)
    for d, bound in enumerate(dims):
        size = spread(sizes.get(d) or number(bound), dims)
        element = make("add", make("multiply", element, size), counting(S32, dims, d))
    source = operand.value.shape
    rest, index = element, spread(number(0), dims)
    for d in reversed(range(source.rank)):
        size = operand.sizes.get(d) or number(source.dims[d])
        stride = prod(source.dims[d + 1 :])
        digit = make("remainder", rest, spread(size, dims))
        rest = make("divide", rest, spread(size, dims))
        index = make("add", index, make("multiply", digit, stride))
    flat, count = to_dims(operand.value, (source.size,)), prod(dims)
    starts = to_dims(index, (count, 1))
    taken = make(
        *("gather", flat, starts),
        offset_dims=(),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1,),
    )
    return Padded(to_dims(taken, dims), sizes)


@rule("slice")
def slice_(instr: Instruction, operand: Padded) -> Padded:
    """A slice of a dimension of run-time size has zeros where nothing counts."""
    attrs = a.Slice.of(instr)
    dims = operand.value.shape.dims
    whole = [
        (s.start, s.limit, s.stride) == (0, n, 1) for s, n in zip(attrs.slice, dims, strict=True)
    ]
    return sliced(instr, operand, [d for d in operand.sizes if not whole[d]])


@rule("dynamic-slice")
def dynamic_slice(instr: Instruction, operand: Padded, *starts: Padded) -> Padded:
    """A slice of a dimension of run-time size has zeros where nothing counts."""
    dims = zip(operand.value.shape.dims, instr.shape.dims, strict=True)
    return sliced(instr, operand, [d for d, (n, m) in enumerate(dims) if n != m], *starts)


def sliced(instr: Instruction, operand: Padded, cut: Sequence[int], *starts: Padded) -> Padded:
    """A slice, of which some dimensions are smaller than the operand's."""
    sizes = {
        d: within(size, instr.shape.dims[d])
        for d, size in operand.sizes.items()
        if instr.shape.dynamic_at(d)
    }
    return remade(instr, [Padded(operand.zeroed(cut)), *starts], sizes)


@rule("dynamic-update-slice")
def dynamic_update_slice(
    instr: Instruction, operand: Padded, update: Padded, *starts: Padded
) -> Padded:
    """The sizes of the updated array, of which only the update's valid elements change."""
    base = operand.zeroed()
    if not update.sizes:
        return remade(instr, [Padded(base), update, *starts], operand.sizes)
    dims, zero = base.shape.dims, splat(0, replace(base.shape, dims=(), layout=None))
    offsets = [wide(start.value) for start in starts]
    there = base
    for d, size in update.sizes.items():
        # Valid elements may end where the operand does, so the padding is given room after it.
        there = padded(there, zero, d, 0, update.value.shape.dims[d])
        last = to_type(make("subtract", number(dims[d]), size), offsets[d].shape.element_type)
        offsets[d] = make("minimum", offsets[d], last)
    under = make("dynamic-slice", there, *offsets, dynamic_slice_sizes=update.value.shape.dims)
    updated = make("dynamic-update-slice", there, update.over(under), *offsets)
    for d in update.sizes:
        updated = cut(updated, d, 0, dims[d])
    return Padded(updated, operand.sizes)


@rule("pad")
def pad(instr: Instruction, operand: Padded, value: Padded) -> Padded:
    """The elements that do not count become padding, which follows those that count."""
    attrs = a.Pad.of(instr)
    moved = [d for d in operand.sizes if attrs.padding[d] != PaddingDim(0, 0)]
    sizes = dict(operand.sizes)
    for d in moved:
        around = attrs.padding[d]
        spaced = operand.sizes[d]
        if around.interior:
            gaps = make("maximum", make("subtract", spaced, 1), 0)
            spaced = make("add", spaced, make("multiply", gaps, around.interior))
        wanted = make("add", spaced, around.low + around.high)
        sizes[d] = within(wanted, instr.shape.dims[d])
    return remade(instr, [Padded(operand.masked(value.value, moved)), value], sizes)


@rule("reverse")
def reverse(instr: Instruction, operand: Padded) -> Padded:
    """The elements that count are in front again, instead of at the end."""
    attrs = a.Dimensions.of(instr)
    reversed_value = remade(instr, [operand], {}).value
    for d, size in operand.sizes.items():
        if d in attrs.dimensions:
            bound = reversed_value.shape.dims[d]
            reversed_value = shifted(reversed_value, d, make("subtract", number(bound), size))
    return Padded(reversed_value, operand.sizes)


def shifted(array: Instruction, axis: int, by: Instruction) -> Instruction:
    """An array whose elements are further in front, by no more than there are."""
    dims = array.shape.dims
    zero = splat(0, replace(array.shape, dims=(), layout=None))
    starts = [by if d == axis else number(0) for d in range(len(dims))]
    behind = padded(array, zero, axis, 0, dims[axis])
    return make("dynamic-slice", behind, *starts, dynamic_slice_sizes=dims)


@rule("concatenate")
def concatenate(instr: Instruction, *operands: Padded) -> Padded:
    """Along a dimension of run-time size, each part hides the padding of the one before."""
    attrs = a.Dimensions.of(instr)
    axis = attrs.dimensions[0]
    sizes = common(
        [Padded(o.value, {d: s for d, s in o.sizes.items() if d != axis}) for o in operands]
    )
    if not any(axis in o.sizes for o in operands):
        return remade(instr, operands, sizes)
    joined, offset = splat(0, static(instr.shape)), number(0)
    for operand in operands:
        starts = [offset if d == axis else number(0) for d in range(instr.shape.rank)]
        joined = make("dynamic-update-slice", joined, operand.value, *starts)
        offset = make(
            "add", offset, operand.sizes.get(axis) or number(operand.value.shape.dims[axis])
        )
    return Padded(joined, {**sizes, axis: offset})
