"""Attributes of smaller cases: less padding, shorter slices, no dimensions of size 1."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.attributes import Iota, Pad, Slice
from hlo.types.values import PaddingDim, SliceDim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.attributes import Attrs
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo_tools.generate.resizing import Change

    # The new shapes, and new attributes of some instructions.
    Edit = tuple[Change, dict[Instruction, Attrs]]

# Attributes that are a size for each dimension.
SIZES = ("slice_sizes", "dynamic_slice_sizes")


def cuts(instructions: Sequence[Instruction]) -> Iterator[Edit]:
    """One instruction each that pads less, takes a shorter slice, or has a smaller stride."""
    for instr in instructions:
        for attrs in shorter(instr.attrs):
            yield (lambda shape: shape), {instr: attrs}
        yield from smaller_strides(instr)


def shorter(attrs: Attrs) -> Iterator[Attrs]:
    """Attributes that make the result smaller in one dimension, the smallest first."""
    if isinstance(attrs, Pad):
        for d, p in enumerate(attrs.padding):
            for low, high, inside in _less((p.low, p.high, p.interior)):
                dims = _with(attrs.padding, d, PaddingDim(low, high, inside))
                yield replace(attrs, padding=dims)
    elif isinstance(attrs, Slice):
        for d, s in enumerate(attrs.slice):
            for (limit,) in _less((s.limit - s.start,)):
                dims = _with(attrs.slice, d, SliceDim(s.start, s.start + limit, s.stride))
                yield replace(attrs, slice=dims)
    for name in SIZES:
        sizes: Any = getattr(attrs, name, ())
        for less in _less(sizes) if all(isinstance(n, int) for n in sizes) else ():
            yield replace(attrs, **{name: less})


def smaller_strides(instr: Instruction) -> Iterator[Edit]:
    """A slice of as many elements that lie closer together, from an operand that ends with them."""
    if not isinstance(instr.attrs, Slice):
        return
    whole = instr.operands[0].shape.dims
    for d, (s, count) in enumerate(zip(instr.attrs.slice, instr.shape.dims, strict=True)):
        for stride in range(1, s.stride if count > 1 else 1):
            limit = s.start + (count - 1) * stride + 1
            dims = _with(instr.attrs.slice, d, SliceDim(s.start, limit, stride))
            less = _with(whole, d, limit)

            def change(shape: Shape, less: tuple[int, ...] = less) -> Shape:
                return shape.with_dims(less) if shape.dims == whole else shape

            yield change, {instr: replace(instr.attrs, slice=dims)}


def _less(numbers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """With one number nearer to 0."""
    for n, number in enumerate(numbers):
        sign = -1 if number < 0 else 1
        for other in sorted({0, 1, abs(number) - 1}):
            if other < abs(number):
                yield _with(numbers, n, sign * other)


def _with(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])


def squeezes(instructions: Sequence[Instruction]) -> Iterator[Edit]:
    """One dimension of size 1 less, whatever else the arrays that have it measure."""
    dims = {s.dims for i in instructions for _, s in i.shape.leaves() if s.is_array}
    for rank, axis in sorted({(len(d), n) for d in dims for n, size in enumerate(d) if size == 1}):
        attrs = {i: squeezed_attrs(i, rank, axis) for i in instructions}
        edits = {i: new for i, new in attrs.items() if new is not i.attrs}

        def change(shape: Shape, rank: int = rank, axis: int = axis) -> Shape:
            return squeezed(shape, axis) if _has(shape, rank, axis) else shape

        yield change, edits


def squeezed(shape: Shape, axis: int) -> Shape:
    """A shape without one of its dimensions."""
    return shape.with_dims(shape.dims[:axis] + shape.dims[axis + 1 :])


def _has(shape: Shape, rank: int, axis: int) -> bool:
    return shape.is_array and shape.rank == rank and shape.dims[axis] == 1


def squeezed_attrs(instr: Instruction, rank: int, axis: int) -> Attrs:
    """The attributes of an instruction whose operands, or else whose result, lack a dimension."""
    attrs: Any = instr.attrs
    # The dimensions of a broadcast are those of its result.
    of_result = not instr.operands or instr.opcode == "broadcast"
    measured = [instr.shape] if of_result else [o.shape for o in instr.operands]
    if not any(_has(shape, rank, axis) for shape in measured):
        return attrs
    if isinstance(attrs, Iota):
        return replace(attrs, iota_dimension=attrs.iota_dimension - (attrs.iota_dimension > axis))
    if isinstance(attrs, Pad):
        return replace(attrs, padding=attrs.padding[:axis] + attrs.padding[axis + 1 :])
    if isinstance(attrs, Slice):
        return replace(attrs, slice=attrs.slice[:axis] + attrs.slice[axis + 1 :])
    listed: Any = getattr(attrs, "dimensions", None)
    if listed and all(isinstance(d, int) for d in listed):
        left = tuple(d - (d > axis) for d in listed if d != axis)
        return replace(attrs, dimensions=left)
    return attrs
