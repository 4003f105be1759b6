"""Opcodes on arrays that are smaller than their shapes say, in dimensions with run-time sizes.

XLA computes on whole buffers, keeps the sizes beside them, and looks at no element beyond. So
arrays of different sizes meet there without ado. Here an array has its actual size (see
`interpreter.dynamic.sizes`), so some are brought together first:

- operands of elementwise opcodes, and arrays that are folded or sorted together, are cut to the
  size that all of them have, and so are the index vectors of a scatter and its updates;
- slices are taken out of, and put into, an array that is filled up to its bound, to which XLA
  clamps their starts;
- windows are gathered from an array that is filled up to their size.

All other opcodes work on what is there; sizes that then do not fit are an error.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.opcode import having
from hlo.types.grouping import common_factors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.attributes import Attrs
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from interpreter.table import Value

    Array = NDArray[Any]
    Function = Callable[..., Value]

# Opcodes whose attributes or operands say how large a slice is that may reach beyond what is there.
SLICING = ("slice", "dynamic-slice", "dynamic-update-slice")
TOGETHER = having("reduction")


def for_run_time_sizes(function: Function, instr: Instruction) -> Function:
    """The function of an instruction, prepared for operands that are smaller than their shapes."""
    if not any(o.shape.is_array and o.shape.is_dynamic for o in instr.operands):
        return function
    if instr.row.elementwise or instr.opcode in TOGETHER:
        function = partial(_together, function)
    elif instr.opcode in SLICING:
        function = partial(_slicing, function)
    elif instr.opcode == "gather":
        function = partial(_gathering, function)
    elif instr.opcode == "scatter":
        function = partial(_scattering, function)
    elif instr.opcode == "sort":
        function = partial(_sorting, function)
    return partial(_checked, function)


def _together(function: Function, instr: Instruction, attrs: Attrs, *operands: Array) -> Value:
    """Scalars aside, operands are cut to the smallest size in each dimension."""
    return function(instr, attrs, *_cut(operands))


def _cut(arrays: Sequence[Array]) -> list[Array]:
    """Arrays of one rank, cut to the sizes that all have; scalars among them stay as they are."""
    dims = [x.shape for x in arrays if x.ndim]
    common = tuple(slice(min(sizes)) for sizes in zip(*dims, strict=True))
    return [x[common] if x.ndim else x for x in arrays]


def _slicing(function: Function, instr: Instruction, attrs: Attrs, *operands: Array) -> Value:
    """The first operand is filled; sizes of the result that vary are its actual ones."""
    operand, *rest = operands
    value = function(instr, attrs, filled(operand, instr.operands[0].shape), *rest)
    dims = enumerate(operand.shape)
    return value[tuple(slice(n if instr.shape.dynamic_at(i) else None) for i, n in dims)]


def _gathering(
    function: Function, instr: Instruction, attrs: a.Gather, operand: Array, indices: Array
) -> Value:
    """Windows that are as large as the bound are as large as the operand."""
    dropped = (*attrs.collapsed_slice_dims, *attrs.operand_batching_dims)
    dims = [d for d in range(operand.ndim) if d not in dropped]
    padding = [(0, max(0, n - m)) for n, m in zip(attrs.slice_sizes, operand.shape, strict=True)]
    value = function(instr, attrs, np.pad(operand, padding), indices)
    cut = [slice(None)] * instr.shape.rank
    for result_dim, d in zip(attrs.offset_dims, dims, strict=True):
        if instr.shape.dynamic_at(result_dim):
            cut[result_dim] = slice(operand.shape[d])
    return value[tuple(cut)]


def _scattering(
    function: Function, instr: Instruction, attrs: a.Scatter, *operands: Array
) -> Value:
    """A scatter of as many index vectors and updates as there are of both."""
    half = len(operands) // 2
    arrays, indices, updates = operands[:half], operands[half], list(operands[half + 1 :])
    vectors = [d for d in range(indices.ndim) if d != attrs.index_vector_dim]
    batch = [d for d in range(updates[0].ndim) if d not in attrs.update_window_dims]
    for d, e in zip(vectors, batch, strict=True):
        count = min(indices.shape[d], *(x.shape[e] for x in updates))
        indices, updates = _first(indices, d, count), [_first(x, e, count) for x in updates]
    return function(instr, attrs, *arrays, indices, *updates)


def _sorting(function: Function, instr: Instruction, attrs: a.Sort, *operands: Array) -> Value:
    """Sort the elements that all operands have; in a static result, an operand's rest follows."""
    value = function(instr, attrs, *_cut(operands))
    if not instr.shape.is_tuple:
        return value
    axis = attrs.dimensions[0]
    results: list[Array] = []
    for part, operand, shape in zip(value, operands, instr.shape.elements, strict=True):
        rest = [] if shape.dynamic_at(axis) else [np.split(operand, [part.shape[axis]], axis)[1]]
        results.append(np.concatenate([part, *rest], axis))
    return tuple(results)


def _first(array: Array, dim: int, count: int) -> Array:
    """The first elements of a dimension."""
    return array[(slice(None),) * dim + (slice(count),)]


def reshaped(sizes: Sequence[int], before: Shape, after: Shape, preferred: int = -1) -> list[int]:
    """The actual sizes of an array under other dimensions.

    Dimensions of which the bounds multiply to the same belong together. Of those after, the first
    dynamic one takes what the others leave.

    Parameters
    ----------
    sizes : actual ones of the dimensions before.
    preferred : the dynamic dimension that takes it instead of the first; none if negative.

    References
    ----------
    XLA, DynamicDimensionInferenceVisitor::HandleReshape, CommonFactors.
    """
    new_sizes = list(after.dims)
    for left, right in common_factors(before.dims, after.dims):
        there = prod(sizes[d] for d in left)
        dynamic = [d for d in right if after.dynamic_at(d)]
        if dynamic and there != prod(new_sizes[d] for d in right):
            at = preferred if preferred in dynamic else dynamic[0]
            new_sizes[at] = there // prod(new_sizes[d] for d in right if d != at)
    return new_sizes


def filled(array: Array, shape: Shape) -> Array:
    """An array filled up to its bounds with zeros, where XLA leaves the values open."""
    missing = [(0, max(0, n - size)) for n, size in zip(shape.dims, array.shape, strict=True)]
    return np.pad(array, missing) if any(map(any, missing)) else array


def _checked(function: Function, instr: Instruction, attrs: Attrs, *operands: Value) -> Value:
    """The value, which must have the sizes that the instruction's shape promises.

    Raises
    ------
    HloError
        HLO123 if it has not, or if the operands do not fit together.
    """
    try:
        value = function(instr, attrs, *operands)
    except (IndexError, ValueError):
        value = None
    if value is None or not _fits(value, instr.shape):
        sizes = ", ".join(str(list(np.shape(x))) for x in operands)
        message = f"{instr.name}: {instr.opcode} has no meaning for run-time sizes {sizes}"
        raise HloError("HLO123", message, instr.span)
    return value


def _fits(value: Value, shape: Shape) -> bool:
    if shape.is_tuple:
        return all(
            _fits(part, element) for part, element in zip(value, shape.elements, strict=True)
        )
    return not shape.is_array or all(
        n == bound or shape.dynamic_at(i)
        for i, (n, bound) in enumerate(zip(value.shape, shape.dims, strict=True))
    )
