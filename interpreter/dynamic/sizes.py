"""Dimensions whose size is known only at run time.

A value with dynamic dimensions is an array of its actual size: `f32[<=10]` may be an array of 7
elements. So every other opcode works on what is there, and padding never mixes with data. XLA
keeps a buffer of the bound and the sizes beside it; what it has after the size is unspecified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.attributes import Attrs, Dimensions
    from hlo.instruction import Instruction

    Array = NDArray[Any]


@evaluates("get-dimension-size", xla="GetDimensionSize")
def evaluate_get_dimension_size(_instr: Instruction, attrs: Dimensions, operand: Array) -> Array:
    """The actual size of a dimension, s32 of shape ()."""
    return np.array(operand.shape[attrs.dimensions[0]], np.int32)


@evaluates("set-dimension-size", xla="SetDimensionSize")
def evaluate_set_dimension_size(
    instr: Instruction, attrs: Dimensions, operand: Array, size: Array
) -> Array:
    """The operand with another actual size of a dimension.

    Parameters
    ----------
    size : s32 of shape (); below 0 it counts as 0, beyond the bound as the bound, where XLA says
        nothing. Elements beyond it are cut off; where it is larger than the actual size, zeros
        stand for what XLA leaves unspecified. A dimension that is declared static has all its
        elements, whatever the size.
    """
    dim = attrs.dimensions[0]
    bound = instr.operands[0].shape.dims[dim]
    wanted = max(int(size), 0)
    if bound >= 0:
        wanted = min(wanted, bound) if instr.shape.dynamic_at(dim) else bound
    missing = max(0, wanted - operand.shape[dim])
    padding = [(0, missing if d == dim else 0) for d in range(operand.ndim)]
    padded = np.pad(operand, padding) if missing else operand
    return padded[(slice(None),) * dim + (slice(wanted),)]


@evaluates("dynamic-reshape", xla="DynamicReshape")
def evaluate_dynamic_reshape(
    instr: Instruction, _attrs: Attrs, operand: Array, *sizes: Array
) -> Array:
    """The same elements, in row-major order, under sizes that come at run time.

    Parameters
    ----------
    sizes : s32 of shape (), one a dimension of the result.

    Raises
    ------
    HloError
        HLO123 if the sizes hold another number of elements, or if one is beyond its bound.
    """
    dims = tuple(int(size) for size in sizes)
    if int(np.prod(dims)) != operand.size:
        message = f"{instr.name}: {list(operand.shape)} has not as many elements as {list(dims)}"
        raise HloError("HLO123", message)
    if any(0 <= bound < n for n, bound in zip(dims, instr.shape.dims, strict=True)):
        bounds = instr.shape.text_without_layout
        raise HloError("HLO123", f"{instr.name}: {list(dims)} is beyond the bounds of {bounds}")
    return operand.reshape(dims)
