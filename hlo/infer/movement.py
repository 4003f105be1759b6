"""Shapes of opcodes that move, repeat, join or drop elements.

A dimension with a run-time size keeps it where all of it is kept.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    dynamic_flags,
    expect_array,
    expect_dimensions,
    expect_lengths,
    expect_same_type,
    expect_scalar,
    higher_type,
    show,
    sizes_agree,
    types_agree,
)
from hlo.infer.table import infers
from hlo.types.element_type import S32
from hlo.types.shape import UNBOUNDED, Layout, Shape, array
from hlo.types.tiling import fill_same_memory
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Instruction


@infers("broadcast", xla="HloVerifier::HandleBroadcast")
def infer_broadcast(instr: Instruction, attrs: a.Broadcast, operand: Shape) -> Shape:
    """The declared shape, which must have the operand's sizes at the given dimensions."""
    result, dims = instr.shape, attrs.dimensions
    expect_array(operand, result)
    _expect_kept_type(operand, result)
    expect_lengths(operand, "dimensions", len(dims))
    expect_dimensions("dimensions", dims, result.rank)
    for i, dim in enumerate(dims):
        if not sizes_agree(operand.dims[i], result.dims[dim]):
            raise HloError(
                "HLO029",
                f"dimension {i} of {show(operand)} cannot become dimension {dim} of {show(result)}",
                notes=["a broadcast repeats the operand along new dimensions, and stretches none"],
            )
    return result


@infers("reshape", xla="HloVerifier::HandleReshape")
def infer_reshape(instr: Instruction, _attrs: a.Reshape, operand: Shape) -> Shape:
    """The declared shape, which must have as many elements as the operand."""
    expect_array(operand, instr.shape)
    _expect_kept_type(operand, instr.shape)
    _expect_same_size(operand, instr.shape)
    return instr.shape


@infers("dynamic-reshape", xla="ShapeInference::InferDynamicReshapeShape")
def infer_dynamic_reshape(
    instr: Instruction, _attrs: a.Attrs, operand: Shape, *sizes: Shape
) -> Shape:
    """The declared bounds; there is one s32 operand for each size that is known at run time."""
    expect_array(operand, instr.shape)
    _expect_kept_type(operand, instr.shape)
    if len(sizes) != instr.shape.rank:
        raise HloError(
            "HLO024",
            f"takes {counted(instr.shape.rank, 'size')} for {show(instr.shape)}, not {len(sizes)}",
        )
    for size in sizes:
        expect_scalar(size, "each size")
        if size.element_type is not S32:
            raise HloError("HLO022", f"each size must be s32, not {size.element_type}")
    _expect_same_size(operand, instr.shape)
    return instr.shape


@infers("bitcast", xla="HloVerifier::HandleBitcast")
def infer_bitcast(instr: Instruction, _attrs: a.Attrs, operand: Shape) -> Shape:
    """The declared shape, which takes as many bits as the operand, or as much memory in tiles.

    XLA asks for that where layouts are final, and lets any shape pass before.
    """
    expect_array(operand, instr.shape)
    known = UNBOUNDED not in (*operand.dims, *instr.shape.dims)
    if (
        known
        and _bits(operand) != _bits(instr.shape)
        and not fill_same_memory(operand, instr.shape)
    ):
        raise HloError(
            "HLO036",
            f"{show(operand)} has {_bits(operand):,} bits, and {show(instr.shape)} "
            f"{_bits(instr.shape):,}",
        )
    return instr.shape


def _bits(shape: Shape) -> int:
    return shape.size * shape.element_type.bits


@infers("bitcast-convert", xla="ShapeInference::InferBitcastConvertShape")
def infer_bitcast_convert(instr: Instruction, _attrs: a.Attrs, operand: Shape) -> Shape:
    """The operand's dimensions, of the declared element type.

    A type k times narrower adds a last dimension of size k, a type k times wider takes one away.
    """
    expect_array(operand, instr.shape)
    old, new = operand.element_type, instr.shape.element_type
    if old.is_complex != new.is_complex:
        raise HloError("HLO036", f"cannot bitcast {old} to {new}: only one is complex")
    ratio, rest = divmod(max(old.bits, new.bits), min(old.bits, new.bits))
    if rest:
        raise HloError("HLO036", f"cannot bitcast {old} to {new}: neither width divides the other")
    if old.bits > new.bits:
        return array(new, (*operand.dims, ratio), (*dynamic_flags(operand), False))
    if old.bits < new.bits:
        if operand.dims[-1:] != (ratio,):
            raise HloError(
                "HLO036",
                f"the last dimension of {show(operand)} must be {ratio}, "
                f"since {ratio} {old} make one {new}",
            )
        return array(new, operand.dims[:-1], dynamic_flags(operand)[:-1])
    return operand.with_type(new)


@infers("transpose", xla="ShapeInference::InferTransposeShape")
def infer_transpose(_instr: Instruction, attrs: a.Dimensions, operand: Shape) -> Shape:
    """Dimension i of the result is dimension `dimensions[i]` of the operand."""
    expect_array(operand)
    expect_lengths(operand, "dimensions", len(attrs.dimensions))
    expect_dimensions("dimensions", attrs.dimensions, operand.rank)
    flags = dynamic_flags(operand)
    result = array(
        operand.element_type,
        tuple(operand.dims[i] for i in attrs.dimensions),
        tuple(flags[i] for i in attrs.dimensions),
    )
    # The layout moves along, so that no byte has to: XLA prints a transpose without a shape so.
    order = operand.layout.minor_to_major if operand.layout else ()
    return result.with_layout(Layout(tuple(attrs.dimensions.index(i) for i in order)))


@infers("reverse", xla="ShapeInference::InferReverseShape")
def infer_reverse(_instr: Instruction, attrs: a.Dimensions, operand: Shape) -> Shape:
    """The operand's shape."""
    expect_array(operand)
    expect_dimensions("dimensions", attrs.dimensions, operand.rank)
    return operand


@infers("slice", xla="ShapeInference::InferSliceShape")
def infer_slice(_instr: Instruction, attrs: a.Slice, operand: Shape) -> Shape:
    """Dimension i has ceil((limit_i - start_i) / stride_i) elements."""
    expect_array(operand)
    expect_lengths(operand, "slice", len(attrs.slice))
    sizes: list[int] = []
    for size, part in zip(operand.dims, attrs.slice, strict=True):
        limit_known = size != UNBOUNDED
        if part.start < 0 or part.start > part.limit or (limit_known and part.limit > size):
            raise HloError(
                "HLO031",
                f"[{part.start}:{part.limit}] reaches out of a dimension of size {size}",
                notes=["a slice needs 0 <= start <= limit <= size; it never wraps around"],
            )
        if part.stride < 1:
            raise HloError("HLO031", f"the stride is {part.stride}, but must be at least 1")
        sizes.append(-(-(part.limit - part.start) // part.stride))
    # A slice of one element is taken out of the part that is always there.
    dynamic = [
        flag and part_size != 1 and size != UNBOUNDED
        for flag, part_size, size in zip(dynamic_flags(operand), sizes, operand.dims, strict=True)
    ]
    return array(operand.element_type, tuple(sizes), tuple(dynamic))


@infers("pad", xla="ShapeInference::InferPadShape")
def infer_pad(_instr: Instruction, attrs: a.Pad, operand: Shape, value: Shape) -> Shape:
    """Dimension i has low_i + high_i + d_i + max(d_i - 1, 0) * interior_i elements."""
    expect_same_type(operand, value)
    expect_scalar(value, "the padding value")
    expect_lengths(operand, "padding", len(attrs.padding))
    sizes: list[int] = []
    for i, (size, dim) in enumerate(zip(operand.dims, attrs.padding, strict=True)):
        if dim.interior < 0:
            raise HloError("HLO033", f"interior padding of dimension {i} is {dim.interior}")
        padded = dim.low + dim.high + size + max(size - 1, 0) * dim.interior
        if size != UNBOUNDED and padded < 0:
            raise HloError(
                "HLO034",
                f"dimension {i} of size {size} would have {padded} elements",
                notes=["negative padding crops, and cannot crop more than there is"],
            )
        sizes.append(UNBOUNDED if size == UNBOUNDED else padded)
    return array(higher_type(operand, value), tuple(sizes), operand.dynamic)


@infers("concatenate", xla="ShapeInference::InferConcatOpShape")
def infer_concatenate(_instr: Instruction, attrs: a.Dimensions, *operands: Shape) -> Shape:
    """The operands' sizes added up along one dimension; all others must agree."""
    if not operands:
        raise HloError("HLO024", "takes at least 1 operand")
    if len(attrs.dimensions) != 1:
        raise HloError("HLO028", f"joins along 1 dimension, not {len(attrs.dimensions)}")
    (dim,) = attrs.dimensions
    first = operands[0]
    expect_array(first)
    expect_dimensions("dimensions", attrs.dimensions, first.rank)
    sizes, dynamic = list(first.dims), list(dynamic_flags(first))
    for operand in operands[1:]:
        expect_same_type(first, operand)
        _expect_joinable(first, operand, dim)
        for i, flag in enumerate(dynamic_flags(operand)):
            dynamic[i] |= flag
            if i != dim and sizes[i] == UNBOUNDED:
                sizes[i], dynamic[i] = operand.dims[i], flag
        unknown = UNBOUNDED in (sizes[dim], operand.dims[dim])
        sizes[dim] = UNBOUNDED if unknown else sizes[dim] + operand.dims[dim]
    return array(higher_type(*operands), tuple(sizes), tuple(dynamic))


def _expect_joinable(a: Shape, b: Shape, dim: int) -> None:
    """HLO021 unless two arrays differ in one dimension only."""
    others = (i for i in range(a.rank) if i != dim)
    if a.rank != b.rank or not all(sizes_agree(a.dims[i], b.dims[i]) for i in others):
        raise HloError("HLO021", f"{show(a)} and {show(b)} differ in another dimension than {dim}")


@infers("copy", xla="ShapeInference::InferUnaryOpShape")
def infer_copy(_instr: Instruction, _attrs: a.Attrs, operand: Shape) -> Shape:
    """The operand's shape, be it an array, a tuple or a token."""
    return operand


def _expect_kept_type(operand: Shape, result: Shape) -> None:
    """HLO023 unless the declared element type is the operand's."""
    if not types_agree(operand, result):
        raise HloError(
            "HLO023",
            f"makes {result.element_type} of {operand.element_type}",
            notes=["write convert to change the element type"],
        )


def _expect_same_size(operand: Shape, result: Shape) -> None:
    """HLO035 unless both have equally many elements; nobody can say where a size is unknown."""
    if UNBOUNDED not in (*operand.dims, *result.dims) and prod(operand.dims) != prod(result.dims):
        raise HloError(
            "HLO035",
            f"{show(operand)} has {counted(operand.size, 'element')}, "
            f"{show(result)} has {result.size}",
        )
