"""Short names for instructions of expansions whose opcode alone does not tell the shape."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.types.element_type import F32, S32, U1, U2, U4, U8, U16, U32, U64
from hlo.types.shape import array
from hlo.types.values import PaddingDim, SliceDim
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType
    from optimizer.rewriting.make import Number

UNSIGNED = {1: U1, 2: U2, 4: U4, 8: U8, 16: U16, 32: U32, 64: U64}


def number(value: Number, element_type: ElementType = S32) -> Instruction:
    """A scalar constant."""
    return splat(value, array(element_type))


def full(value: Number, like: Instruction) -> Instruction:
    """A number everywhere in the shape of another instruction."""
    return splat(value, like.shape.with_dims(like.shape.dims))


def to_type(x: Instruction, element_type: ElementType) -> Instruction:
    """The same numbers in an element type; the instruction itself if it has the type."""
    if x.shape.element_type is element_type:
        return x
    return make("convert", x, shape=x.shape.with_type(element_type))


def wide(x: Instruction) -> Instruction:
    """Floats in a type in which arithmetic is done: f32 where theirs is smaller."""
    element_type = x.shape.element_type
    return to_type(x, F32) if element_type.is_floating and element_type.bits < 32 else x


def bits_of(x: Instruction, element_type: ElementType) -> Instruction:
    """The bits under another element type of the same width."""
    if x.shape.element_type is element_type:
        return x
    return make("bitcast-convert", x, shape=x.shape.with_type(element_type))


def to_dims(x: Instruction, dims: Sequence[int]) -> Instruction:
    """The same elements in row-major order under other dimensions."""
    if x.shape.dims == tuple(dims):
        return x
    return make("reshape", x, shape=x.shape.with_dims(tuple(dims)))


def spread(x: Instruction, dims: Sequence[int], at: Sequence[int] = ()) -> Instruction:
    """A broadcast in which operand dimension i becomes result dimension at[i]."""
    if x.shape.dims == tuple(dims) and tuple(at) == tuple(range(len(dims))):
        return x
    return make("broadcast", x, shape=x.shape.with_dims(tuple(dims)), dimensions=tuple(at))


def counting(element_type: ElementType, dims: Sequence[int], axis: int) -> Instruction:
    """The numbers 0, 1, 2, ... along a dimension."""
    return make("iota", shape=array(element_type, tuple(dims)), iota_dimension=axis)


def cut(x: Instruction, axis: int, start: int, limit: int, stride: int = 1) -> Instruction:
    """A slice of one dimension."""
    ranges = [SliceDim(0, n) for n in x.shape.dims]
    ranges[axis] = SliceDim(start, limit, stride)
    return make("slice", x, slice=tuple(ranges))


def padded(x: Instruction, value: Instruction, axis: int, low: int, high: int) -> Instruction:
    """One dimension with a scalar around it."""
    padding = [PaddingDim(0, 0) for _ in x.shape.dims]
    padding[axis] = PaddingDim(low, high)
    return make("pad", x, value, padding=tuple(padding))


def permuted(x: Instruction, order: Sequence[int]) -> Instruction:
    """Result dimension i is operand dimension order[i]."""
    if list(order) == list(range(x.shape.rank)):
        return x
    return make("transpose", x, dimensions=tuple(order))


def joined(parts: Sequence[Instruction], axis: int) -> Instruction:
    """Arrays one after the other along a dimension."""
    return parts[0] if len(parts) == 1 else make("concatenate", *parts, dimensions=(axis,))


def folded(
    x: Instruction, initial: Instruction, axes: Sequence[int], by: Computation
) -> Instruction:
    """Dimensions folded by a computation of two scalars."""
    return make("reduce", x, initial, dimensions=tuple(axes), called=(by,))


def less(x: Instruction, y: Instruction | Number) -> Instruction:
    """The comparison x < y."""
    return make("compare", x, y, direction="LT")


def equal(x: Instruction, y: Instruction | Number) -> Instruction:
    """The comparison x == y."""
    return make("compare", x, y, direction="EQ")


def size_of(dims: Sequence[int]) -> int:
    """The number of elements of an array."""
    return prod(dims)
