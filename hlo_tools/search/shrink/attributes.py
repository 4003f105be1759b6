"""Attributes of smaller cases: less padding, shorter slices, fewer dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.attributes import Convolution, DotDims, Iota, Pad, Slice
from hlo.types.values import PaddingDim, SliceDim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hlo.attributes import Attrs
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo.types.values import ConvDims
    from hlo_tools.generate.resizing import Change

    Dims = tuple[int, ...]
    # The new shapes, and new attributes of some instructions.
    Edit = tuple[Change, dict[Instruction, Attrs]]

# Attributes that are a size for each dimension.
SIZES = ("slice_sizes", "dynamic_slice_sizes")
# The roles of a convolution's dimensions: of input, kernel and result, the spatial ones last.
ROLES = (
    ("input_batch", "input_feature", "input_spatial"),
    ("kernel_input_feature", "kernel_output_feature", "kernel_spatial"),
    ("output_batch", "output_feature", "output_spatial"),
)


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
    """One dimension less: of size 1 wherever it is, of some arrays, or of a window."""
    dims = {s.dims: None for i in instructions for _, s in i.shape.leaves() if s.is_array}
    ones = sorted({(len(d), n) for d in dims for n, size in enumerate(d) if size == 1})
    for rank, axis in ones:
        yield without(instructions, {d: axis for d in dims if len(d) == rank and d[axis] == 1})
    for dim in dims:
        for axis in range(len(dim)):
            yield without(instructions, {dim: axis})
    for instr in instructions:
        yield from smaller_windows(instr)


def without(instructions: Sequence[Instruction], axes: Mapping[Dims, int]) -> Edit:
    """The edit by which all arrays of some sizes lose a dimension each."""

    def change(shape: Shape) -> Shape:
        return squeezed(shape, axes[shape.dims]) if shape.dims in axes else shape

    attrs = {i: squeezed_attrs(i, axes) for i in instructions}
    return change, {i: new for i, new in attrs.items() if new is not i.attrs}


def smaller_windows(instr: Instruction) -> Iterator[Edit]:
    """A convolution over one spatial dimension less, or a product with one less in common."""
    shapes = [*(o.shape for o in instr.operands), instr.shape]
    attrs = instr.attrs
    if isinstance(attrs, Convolution):
        labels = attrs.dim_labels
        places = zip(
            labels.input_spatial, labels.kernel_spatial, labels.output_spatial, strict=True
        )
        for n, gone in enumerate(places):
            window = (*attrs.window[:n], *attrs.window[n + 1 :])
            new = replace(attrs, window=window, dim_labels=narrower(labels, n, gone))
            yield renamed(shapes, gone), {instr: new}
    elif isinstance(attrs, DotDims):
        pairs = zip(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims, strict=True)
        for gone in pairs:
            names = (
                ("lhs_batch_dims", "lhs_contracting_dims"),
                ("rhs_batch_dims", "rhs_contracting_dims"),
            )
            new: Any = {}
            for side, axis in zip(names, gone, strict=True):
                new |= {name: lowered(getattr(attrs, name), axis) for name in side}
            yield renamed(shapes, (*gone, None)), {instr: replace(attrs, **new)}


def renamed(shapes: Sequence[Shape], gone: Sequence[int | None]) -> Change:
    """The change by which arrays of the shapes of operands and result lose a dimension each."""
    pairs = zip(shapes, gone, strict=False)
    axes = {shape.dims: axis for shape, axis in pairs if axis is not None}
    return lambda shape: squeezed(shape, axes[shape.dims]) if shape.dims in axes else shape


def narrower(labels: ConvDims, n: int, gone: tuple[int, int, int]) -> ConvDims:
    """The roles of a convolution's dimensions without one spatial dimension."""
    new: dict[str, Any] = {}
    for names, axis in zip(ROLES, gone, strict=True):
        *single, spatial = names
        new |= {name: getattr(labels, name) - (getattr(labels, name) > axis) for name in single}
        left: tuple[int, ...] = getattr(labels, spatial)
        new[spatial] = tuple(d - (d > axis) for k, d in enumerate(left) if k != n)
    return replace(labels, **new)


def lowered(dims: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The numbers of dimensions after one is gone."""
    return tuple(d - (d > axis) for d in dims if d != axis)


def squeezed(shape: Shape, axis: int) -> Shape:
    """A shape without one of its dimensions."""
    return shape.with_dims(shape.dims[:axis] + shape.dims[axis + 1 :])


def squeezed_attrs(instr: Instruction, axes: Mapping[Dims, int]) -> Attrs:
    """The attributes of an instruction whose operands, or else whose result, lack a dimension."""
    attrs: Any = instr.attrs
    # The dimensions of a broadcast are those of its result.
    of_result = not instr.operands or instr.opcode == "broadcast"
    measured = [instr.shape] if of_result else [o.shape for o in instr.operands]
    axis = next((axes[s.dims] for s in measured if s.is_array and s.dims in axes), None)
    if axis is None:
        return attrs
    if isinstance(attrs, Iota):
        return replace(attrs, iota_dimension=attrs.iota_dimension - (attrs.iota_dimension > axis))
    for name in ("padding", "slice", "window", *SIZES):
        value: Any = getattr(attrs, name, ())
        if value and len(value) == len(measured[0].dims) and not isinstance(attrs, Convolution):
            return replace(attrs, **{name: value[:axis] + value[axis + 1 :]})
    listed: Any = getattr(attrs, "dimensions", None)
    if listed and all(isinstance(d, int) for d in listed):
        return replace(attrs, dimensions=lowered(listed, axis))
    return attrs
