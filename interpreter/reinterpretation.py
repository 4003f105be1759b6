"""Opcodes that read the same bits or bytes in another way.

In memory an array is a row of bits: its elements in the order that its layout says, each with its
lowest bit first, those of less than 8 bits packed without gaps. `bitcast` reads the row under
another shape, `bitcast-convert` reads each element, or each last dimension, under another type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.types.element_type import PRED
from hlo.types.tiling import fill_same_memory, tilings
from interpreter.numbers.widths import as_unsigned, narrowed, type_of
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.attributes import Attrs
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

    Array = NDArray[Any]


@evaluates("bitcast", xla='XLA\'s HLO opcode list, kBitcast; "Shapes and Layout"')
def evaluate_bitcast(instr: Instruction, _attrs: Attrs, operand: Array) -> Array:
    """Read the operand's memory under another shape and layout.

    Where tiles pad the operand, its padding reads as 0.

    Raises
    ------
    HloError
        HLO036 if the operand has not as many bytes as the result.
    """
    source, target = instr.operands[0].shape, instr.shape
    if fill_same_memory(source, target):
        row = _reinterpret(_in_tiles(operand, source), target.element_type)
        return _out_of_tiles(row, target)
    in_memory = operand.transpose(source.memory_order)
    order = target.memory_order
    dims = [target.dims[d] for d in order]
    if type_of(operand) is not target.element_type:
        in_memory = _reinterpret(in_memory.reshape(-1), target.element_type)
    if in_memory.size != target.size:
        message = f"{instr.name}: {source} and {target} are not of as many bytes"
        raise HloError("HLO036", message, instr.span)
    return in_memory.reshape(dims).transpose(np.argsort(order))


def _in_tiles(operand: Array, shape: Shape) -> Array:
    """An array's memory, with the padding of its tiles, as a row of elements."""
    moved = operand.transpose(shape.memory_order)
    for step in tilings(shape):
        ends = [(0, more - dim) for dim, more in zip(step.dims, step.padded, strict=True)]
        whole = np.pad(moved.reshape(step.dims), ends)
        moved = whole.reshape(step.split).transpose(step.order)
    return moved.reshape(-1)


def _out_of_tiles(row: Array, shape: Shape) -> Array:
    """The array that lies in memory as `_in_tiles` says."""
    moved, steps = row, tilings(shape)
    for step in reversed(steps):
        moved = moved.reshape([step.split[i] for i in step.order]).transpose(np.argsort(step.order))
        moved = moved.reshape(step.padded)[tuple(slice(dim) for dim in step.dims)]
    dims = [shape.dims[d] for d in shape.memory_order]
    return moved.reshape(dims).transpose(np.argsort(shape.memory_order))


@evaluates("bitcast-convert", xla="BitcastConvertType")
def evaluate_bitcast_convert(instr: Instruction, _attrs: Attrs, operand: Array) -> Array:
    """Read the bits of elements under another type.

    A wider element is cut into several narrower ones, its lowest bits first, along a new last
    dimension; narrower ones along the last dimension are joined into a wider one.
    """
    source, target = type_of(operand), instr.shape.element_type
    dims = operand.shape
    if target.bits > source.bits:
        dims = dims[:-1]
    elif target.bits < source.bits:
        dims = (*dims, source.bits // target.bits)
    return _reinterpret(operand.reshape(-1), target).reshape(dims)


def _reinterpret(row: Array, target: ElementType) -> Array:
    """The bits of a one-dimensional array read as elements of another type."""
    source = type_of(row)
    if source is target:
        return row
    # A pred is a whole byte, but only 0 and 1 are values of it.
    if source.bits % 8 == 0 and target.bits % 8 == 0 and target is not PRED:
        return np.ascontiguousarray(row).view(target.dtype)
    return _from_bits(_bits(row, source).reshape(-1, target.bits), target)


def _bits(row: Array, source: ElementType) -> Array:
    """The bits of each element along a second dimension, the lowest first."""
    whole = np.ascontiguousarray(as_unsigned(row) if source.is_integer else row)
    octets = whole.view(np.uint8).reshape(-1, source.bytes)
    return np.unpackbits(octets, axis=-1, bitorder="little")[:, : source.bits]


def _from_bits(bits: Array, target: ElementType) -> Array:
    """Elements from their bits along the last dimension."""
    octets = np.packbits(bits, axis=-1, bitorder="little")
    whole = octets.reshape(-1).view(np.uint8 if target.bits <= 8 else f"u{target.bytes}")
    return whole.view(target.dtype) if target.is_floating else narrowed(whole, target)
