"""Opcodes on arrays that are smaller than their shapes say, in dimensions with run-time sizes.

XLA computes on whole buffers, keeps the sizes beside them, and looks at no element beyond. So
arrays of different sizes meet there without ado. Here an array has its actual size (see
`interpreter.dynamic`), so some are brought together first:

- operands of elementwise opcodes are cut to the size that all of them have;
- slices are taken out of, and put into, an array that is filled up to its bound, to which XLA
  clamps their starts.

All other opcodes work on what is there; sizes that then do not fit are an error.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.error import HloError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hlo.attributes import Attrs
    from hlo.instruction import Instruction
    from hlo.shape import Shape
    from interpreter.table import Value

    Array = NDArray[Any]
    Function = Callable[..., Value]

SLICING = ("slice", "dynamic-slice", "dynamic-update-slice")


def for_run_time_sizes(function: Function, instr: Instruction) -> Function:
    """The function of an instruction, prepared for operands that are smaller than their shapes."""
    if not any(o.shape.is_array and o.shape.is_dynamic for o in instr.operands):
        return function
    if instr.row.elementwise:
        return partial(_checked, partial(_elementwise, function))
    return partial(_checked, partial(_slicing, function) if instr.opcode in SLICING else function)


def _elementwise(function: Function, instr: Instruction, attrs: Attrs, *operands: Array) -> Value:
    """Scalars aside, operands are cut to the smallest size in each dimension."""
    dims = [x.shape for x in operands if x.ndim]
    common = tuple(slice(min(sizes)) for sizes in zip(*dims, strict=True))
    return function(instr, attrs, *(x[common] if x.ndim else x for x in operands))


def _slicing(function: Function, instr: Instruction, attrs: Attrs, *operands: Array) -> Value:
    """The first operand is filled; sizes of the result that vary are its actual ones."""
    operand, *rest = operands
    value = function(instr, attrs, filled(operand, instr.operands[0].shape), *rest)
    dims = enumerate(operand.shape)
    return value[tuple(slice(n if instr.shape.dynamic_at(i) else None) for i, n in dims)]


def filled(array: Array, shape: Shape) -> Array:
    """An array filled up to its bounds with zeros, where XLA leaves open what is there."""
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
