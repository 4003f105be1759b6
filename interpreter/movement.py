"""Opcodes that move, repeat or drop elements and compute nothing.

Dimensions with a run-time size have that size in the operands' arrays, so sizes are read from the
arrays; the instruction's shape gives only those that no operand has. Most results are views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.dynamic.run_time_sizes import reshaped
from interpreter.numbers.widths import narrowed
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.values import PaddingDim

    Array = NDArray[Any]


@evaluates("iota", xla="Iota")
def evaluate_iota(instr: Instruction, attrs: a.Iota) -> Array:
    """Count 0, 1, 2, ... along a dimension.

    Returns
    -------
    Array
        shape instr.shape.dims; numbers wrap around or are rounded where the type is too narrow.
    """
    dims, along = instr.shape.dims, attrs.iota_dimension
    if not instr.shape.size:
        # The dimension that counts may be huge where another one is empty.
        return np.empty(dims, instr.shape.element_type.dtype)
    count = narrowed(np.arange(dims[along]), instr.shape.element_type)
    others = [n for n in range(len(dims)) if n != along]
    return np.broadcast_to(np.expand_dims(count, others), dims)


@evaluates("broadcast", xla="Broadcast and BroadcastInDim")
def evaluate_broadcast(instr: Instruction, attrs: a.Broadcast, operand: Array) -> Array:
    """Repeat an array along new dimensions.

    Operand dimension i is result dimension dimensions[i], in any order. Unlike NumPy's, the
    broadcast stretches no dimension of size 1.
    """
    dims = list(instr.shape.dims)
    for size, dim in zip(operand.shape, attrs.dimensions, strict=True):
        dims[dim] = size
    in_order = operand.transpose(np.argsort(attrs.dimensions))
    new = [d for d in range(len(dims)) if d not in attrs.dimensions]
    return np.broadcast_to(np.expand_dims(in_order, new), dims)


@evaluates("reshape", xla="Reshape")
def evaluate_reshape(instr: Instruction, attrs: a.Reshape, operand: Array) -> Array:
    """Give the same elements, in row-major order, other dimensions.

    Where the operand is smaller than its bounds, a dimension that is neither split nor joined keeps
    its size. Of the others, a dynamic one (of several, the `inferred_dimension` or else the first)
    gets the size that is left.
    """
    dims: Sequence[int] = instr.shape.dims
    if instr.shape.is_dynamic and operand.size != instr.shape.size:
        before = instr.operands[0].shape
        dims = reshaped(operand.shape, before, instr.shape, attrs.inferred_dimension)
    return operand.reshape(dims)


@evaluates("transpose", xla="Transpose")
def evaluate_transpose(_instr: Instruction, attrs: a.Dimensions, operand: Array) -> Array:
    """Permute dimensions: result dimension i is operand dimension dimensions[i]."""
    return operand.transpose(attrs.dimensions)


@evaluates("reverse", xla="Rev (reverse)")
def evaluate_reverse(_instr: Instruction, attrs: a.Dimensions, operand: Array) -> Array:
    """Flip dimensions: element i of a flipped dimension of size n is element n - 1 - i."""
    return np.flip(operand, attrs.dimensions)


@evaluates("slice", xla="Slice")
def evaluate_slice(_instr: Instruction, attrs: a.Slice, operand: Array) -> Array:
    """Take the elements start, start + stride, ... below limit of each dimension.

    Returns
    -------
    Array
        shape di' = ceil((limit_i - start_i) / stride_i)
    """
    return operand[tuple(slice(s.start, s.limit, s.stride) for s in attrs.slice)]


@evaluates("concatenate", xla="Concatenate")
def evaluate_concatenate(_instr: Instruction, attrs: a.Dimensions, *operands: Array) -> Array:
    """Join arrays along a dimension.

    Parameters
    ----------
    operands : of equal sizes but in dimension dimensions[0].
    """
    return np.concatenate(operands, axis=attrs.dimensions[0])


@evaluates("pad", xla="Pad")
def evaluate_pad(_instr: Instruction, attrs: a.Pad, operand: Array, value: Array) -> Array:
    """Surround an array, and space its elements, with one value.

    Parameters
    ----------
    operand : shape (d0, ..., dn)
    value : shape (), same type.

    Returns
    -------
    Array
        shape di' = low_i + high_i + di + max(di - 1, 0) * interior_i; negative low or high crops.
    """
    return pad(operand, value, attrs.padding)


def pad(operand: Array, value: Array, padding: tuple[PaddingDim, ...]) -> Array:
    """The padded array, for all opcodes that pad."""
    spaced = [n + max(n - 1, 0) * p.interior for n, p in zip(operand.shape, padding, strict=True)]
    sizes = [max(n + p.low + p.high, 0) for n, p in zip(spaced, padding, strict=True)]
    result = np.full(sizes, value, dtype=operand.dtype)
    into: list[slice] = []
    out_of: list[slice] = []
    for n, size, p in zip(operand.shape, sizes, padding, strict=True):
        step = p.interior + 1
        # Element i goes to low + i * step; elements before 0 and after the end are cropped.
        first = min(max(-(p.low // step), 0), n)
        end = min(max(-(-(size - p.low) // step), first), n)
        into.append(slice(p.low + first * step, max(p.low + (end - 1) * step + 1, 0), step))
        out_of.append(slice(first, end))
    if all(s.stop > s.start for s in out_of):
        result[tuple(into)] = operand[tuple(out_of)]
    return result


@evaluates("dynamic-slice", xla="DynamicSlice")
def evaluate_dynamic_slice(
    _instr: Instruction, attrs: a.DynamicSlice, operand: Array, *starts: Array
) -> Array:
    """Take a slice whose start comes at run time.

    Parameters
    ----------
    starts : a scalar a dimension, or one vector; clamped so that the slice lies in the operand.

    Returns
    -------
    Array
        shape dynamic_slice_sizes
    """
    return operand[window(operand, starts, attrs.dynamic_slice_sizes)]


@evaluates("dynamic-update-slice", xla="DynamicUpdateSlice")
def evaluate_dynamic_update_slice(
    _instr: Instruction, _attrs: a.Attrs, operand: Array, update: Array, *starts: Array
) -> Array:
    """Replace a slice whose start comes at run time.

    Parameters
    ----------
    starts : a scalar a dimension, or one vector; clamped so that the slice lies in the operand.
    """
    # An operand without dimensions may be a NumPy scalar, which can't be written to.
    result = np.array(operand)
    result[window(operand, starts, update.shape)] = update
    return result


def window(operand: Array, starts: tuple[Array, ...], sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """The slices of the given sizes, with starts clamped so that they lie in the operand."""
    numbers = starts[0] if len(starts) == 1 and starts[0].ndim == 1 else starts
    # int() first: u64 starts must not meet signed numbers in NumPy.
    clamped = [
        max(0, min(int(start), n - size))
        for start, n, size in zip(numbers, operand.shape, sizes, strict=True)
    ]
    return tuple(slice(start, start + size) for start, size in zip(clamped, sizes, strict=True))


@evaluates("copy", xla="XLA's HLO opcode list, kCopy")
def evaluate_copy(_instr: Instruction, _attrs: a.Attrs, operand: Array) -> Array:
    """Yield the same value: in NumPy, its buffer and its layout cannot be seen."""
    return operand
