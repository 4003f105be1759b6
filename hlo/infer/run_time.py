"""Shapes of opcodes whose starts or sizes come at run time.

A start is clamped when it comes, so that only the sizes of a slice matter here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    dynamic_flags,
    expect_array,
    expect_dimensions,
    expect_lengths,
    expect_same_type,
    expect_scalar,
    show,
    sizes_agree,
)
from hlo.infer.table import infers
from hlo.types.element_type import BUFFER, S32
from hlo.types.shape import UNBOUNDED, Shape, array
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Instruction


@infers("dynamic-slice", xla="ShapeInference::InferDynamicSliceShape")
def infer_dynamic_slice(
    _instr: Instruction, attrs: a.DynamicSlice, operand: Shape, *starts: Shape
) -> Shape:
    """An array of `dynamic_slice_sizes`."""
    expect_array(operand)
    _expect_starts(operand, starts)
    sizes = attrs.dynamic_slice_sizes
    expect_lengths(operand, "dynamic_slice_sizes", len(sizes))
    if min(sizes, default=0) < 0:
        raise HloError("HLO031", f"a slice of {min(sizes)} elements")
    _expect_within(sizes, operand)
    whole = [
        flag and 1 < size == full
        for flag, size, full in zip(dynamic_flags(operand), sizes, operand.dims, strict=True)
    ]
    return array(operand.element_type, sizes, tuple(whole))


@infers("dynamic-update-slice", xla="ShapeInference::InferDynamicUpdateSliceShape")
def infer_dynamic_update_slice(
    instr: Instruction, _attrs: a.Attrs, operand: Shape, update: Shape, *starts: Shape
) -> Shape:
    """The operand's shape."""
    if operand.element_type is BUFFER:
        # In place, so that the result is the same buffer.
        infer_dynamic_update_slice(instr, _attrs, operand.elements[0], update, *starts)
        return operand
    expect_same_type(operand, update)
    _expect_starts(operand, starts)
    if update.rank != operand.rank:
        raise HloError("HLO028", f"{show(update)} has another rank than {show(operand)}")
    _expect_within(update.dims, operand)
    dynamic = [
        old or (new and size == full)
        for old, new, size, full in zip(
            dynamic_flags(operand), dynamic_flags(update), update.dims, operand.dims, strict=True
        )
    ]
    return array(operand.element_type, operand.dims, tuple(dynamic))


def _expect_starts(operand: Shape, starts: tuple[Shape, ...]) -> None:
    """One integer scalar a dimension, all of one type; or one vector of them, an older form."""
    for start in starts:
        expect_array(start)
        if not start.element_type.is_integer:
            raise HloError("HLO022", f"start indices must be integers, not {start.element_type}")
    if len(starts) == 1 and starts[0].rank == 1:
        if not sizes_agree(starts[0].dims[0], operand.rank):
            raise HloError("HLO028", f"{show(starts[0])} cannot index {show(operand)}")
        return
    if len(starts) != operand.rank:
        raise HloError("HLO024", f"takes {counted(operand.rank, 'start')}, not {len(starts)}")
    for start in starts:
        expect_scalar(start, "each start index")
        if start.element_type is not starts[0].element_type:
            raise HloError(
                "HLO023",
                f"start indices differ: {starts[0].element_type} and {start.element_type}",
            )


def _expect_within(sizes: tuple[int, ...], operand: Shape) -> None:
    """HLO031 unless a slice of these sizes fits into the operand."""
    for i, (size, full) in enumerate(zip(sizes, operand.dims, strict=True)):
        if (size < 0 and size != UNBOUNDED) or (full != UNBOUNDED and size > full):
            raise HloError("HLO031", f"a slice of {size} in dimension {i} of {show(operand)}")


@infers("get-dimension-size", xla="ShapeInference::InferGetDimensionSizeShape")
def infer_get_dimension_size(_instr: Instruction, attrs: a.Dimensions, operand: Shape) -> Shape:
    """One s32."""
    _expect_countable(attrs, operand)
    return array(S32)


@infers("set-dimension-size", xla="ShapeInference::InferSetDimensionSizeShape")
def infer_set_dimension_size(
    _instr: Instruction, attrs: a.Dimensions, operand: Shape, size: Shape
) -> Shape:
    """The operand's shape, whose dimension becomes a bound."""
    _expect_countable(attrs, operand)
    expect_scalar(size, "the size")
    if size.element_type is not S32:
        raise HloError("HLO022", f"the size must be s32, not {size.element_type}")
    dynamic = list(dynamic_flags(operand))
    dynamic[attrs.dimensions[0]] = True
    return replace(operand, dynamic=tuple(dynamic))


def _expect_countable(attrs: a.Dimensions, operand: Shape) -> None:
    """Exactly one dimension, whose size is an s32."""
    expect_array(operand)
    if len(attrs.dimensions) != 1:
        raise HloError("HLO028", f"takes 1 dimension, not {len(attrs.dimensions)}")
    expect_dimensions("dimensions", attrs.dimensions, operand.rank)
    if operand.dims[attrs.dimensions[0]] >= 1 << 31:
        raise HloError("HLO031", f"the dimension of {show(operand)} does not fit into an s32")
