"""Operations that move elements: views, slices, joins, padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.values import PaddingDim
from hlo_torch.operations.indexing import put, second, take
from hlo_torch.operations.table import Unsupported, at, aten, axes_of, broadcast, converted
from optimizer.expanders.parts import cut, joined, number, permuted, spread, to_dims
from optimizer.rewriting.make import constant, make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@aten(*("view.default", "_unsafe_view.default", "reshape.default", "_reshape_copy.default"))
@aten(*("squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default", "view_copy.default"))
@aten("flatten.using_ints", "unflatten.int")
def view(out: Shape, x: Instruction, *_: Any) -> Instruction:
    """The same elements in order, in other dimensions."""
    return to_dims(x, out.dims)


@aten("permute.default", "permute_copy.default")
def permute(_out: Shape, x: Instruction, order: Sequence[int]) -> Instruction:
    """Dimensions in another order."""
    return permuted(x, [at(d, x.shape.rank) for d in order])


@aten("t.default", "t_copy.default")
def t(_out: Shape, x: Instruction) -> Instruction:
    """A matrix with its dimensions exchanged."""
    return permuted(x, range(x.shape.rank)[::-1])


@aten("transpose.int", "transpose_copy.int")
def transpose(_out: Shape, x: Instruction, one: int, other: int) -> Instruction:
    """Two dimensions exchanged."""
    if not x.shape.rank:
        return x
    order = list(range(x.shape.rank))
    one, other = at(one, x.shape.rank), at(other, x.shape.rank)
    order[one], order[other] = order[other], order[one]
    return permuted(x, order)


@aten("expand.default", "expand_copy.default", "broadcast_in_dim.default")
def expand(out: Shape, x: Instruction, _sizes: Sequence[int], *axes: Any, **_: Any) -> Instruction:
    """An array repeated along new dimensions and those of size 1."""
    return spread(x, out.dims, axes[0]) if axes else broadcast(x, out.dims)


@aten("repeat.default")
def repeat(out: Shape, x: Instruction, counts: Sequence[int]) -> Instruction:
    """An array so many times along each dimension."""
    sizes = (*(1,) * (out.rank - x.shape.rank), *x.shape.dims)
    pairs = [n for pair in zip(counts, sizes, strict=True) for n in pair]
    at_sizes = [2 * k + 1 for k in range(out.rank - x.shape.rank, out.rank)]
    return to_dims(spread(x, pairs, at_sizes), out.dims)


def limits(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """The first and the last element of a slice as Python counts them, the last one excluded."""
    first, last, _ = slice(start, end).indices(size)
    return first, max(first, last)


@aten("slice.Tensor", "slice_copy.Tensor")
def slice_(
    _out: Shape, x: Instruction, axis: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Instruction:  # fmt: skip
    """A part of one dimension."""
    axis = at(axis, x.shape.rank)
    first, last = limits(x.shape.dims[axis], start, end)
    return cut(x, axis, first, last, step)


@aten("slice_scatter.default")
def slice_scatter(
    out: Shape, x: Instruction, part: Instruction, axis: int = 0, start: int | None = None,
    end: int | None = None, step: int = 1,
) -> Instruction:  # fmt: skip
    """An array with a part of one dimension replaced."""
    axis = at(axis, out.rank)
    first, last = limits(out.dims[axis], start, end)
    if step != 1:
        raise Unsupported("a step that is not 1")
    if part.shape.dims[axis] != last - first:
        raise Unsupported("a part of another size")
    before, after = cut(x, axis, 0, first), cut(x, axis, last, out.dims[axis])
    return joined([before, converted(part, out.element_type), after], axis)


@aten("select.int", "select_copy.int")
def select(out: Shape, x: Instruction, axis: int, index: int) -> Instruction:
    """One element of a dimension."""
    axis = at(axis, x.shape.rank)
    index = at(index, x.shape.dims[axis])
    return to_dims(cut(x, axis, index, index + 1), out.dims)


@aten("select_scatter.default")
def select_scatter(
    out: Shape, x: Instruction, part: Instruction, axis: int, index: int
) -> Instruction:
    """An array with one element of a dimension replaced."""
    axis = at(axis, out.rank)
    index = at(index, out.dims[axis])
    dims = (*out.dims[:axis], 1, *out.dims[axis + 1 :])
    return slice_scatter(out, x, to_dims(part, dims), axis, index, index + 1)


@aten("cat.default", "concat.default")
def cat(out: Shape, parts: Sequence[Instruction], axis: int = 0) -> Instruction:
    """Arrays one after the other; empty ones of one dimension fit any others."""
    whole = [p for p in parts if p.shape.rank == out.rank]
    return joined([converted(p, out.element_type) for p in whole], at(axis, out.rank))


@aten("stack.default")
def stack(out: Shape, parts: Sequence[Instruction], axis: int = 0) -> Instruction:
    """Arrays along a new dimension."""
    axis = at(axis, out.rank)
    dims = (*out.dims[:axis], 1, *out.dims[axis + 1 :])
    return joined([to_dims(converted(p, out.element_type), dims) for p in parts], axis)


@aten("split_with_sizes.default", "split_with_sizes_copy.default")
def split_with_sizes(
    _out: None, x: Instruction, sizes: Sequence[int], axis: int = 0
) -> tuple[Instruction, ...]:
    """A dimension in parts of some sizes."""
    axis, start = at(axis, x.shape.rank), 0
    found: list[Instruction] = []
    for size in sizes:
        found.append(cut(x, axis, start, start + size))
        start += size
    return tuple(found)


@aten("split.Tensor")
def split(out: None, x: Instruction, size: int, axis: int = 0) -> tuple[Instruction, ...]:
    """A dimension in parts of one size, the last one perhaps smaller."""
    whole = x.shape.dims[at(axis, x.shape.rank)]
    sizes = [min(size, whole - start) for start in range(0, whole, size)]
    return split_with_sizes(out, x, sizes or [0], axis)


@aten("unbind.int", "unbind_copy.int")
def unbind(_out: None, x: Instruction, axis: int = 0) -> tuple[Instruction, ...]:
    """The elements of a dimension."""
    axis = at(axis, x.shape.rank)
    dims = (*x.shape.dims[:axis], *x.shape.dims[axis + 1 :])
    return tuple(to_dims(cut(x, axis, k, k + 1), dims) for k in range(x.shape.dims[axis]))


@aten("constant_pad_nd.default")
def constant_pad_nd(
    out: Shape, x: Instruction, pads: Sequence[int], value: float = 0
) -> Instruction:
    """A number around an array; sizes are given for the last dimension first."""
    padding = [PaddingDim(0, 0)] * (out.rank - len(pads) // 2)
    padding += [PaddingDim(*pads[k : k + 2]) for k in range(len(pads) - 2, -1, -2)]
    return make("pad", x, number(value, out.element_type), padding=tuple(padding))


@aten("flip.default")
def flip(_out: Shape, x: Instruction, axes: Sequence[int]) -> Instruction:
    """Dimensions in reverse."""
    return make("reverse", x, dimensions=axes_of(axes, x.shape.rank)) if axes else x


@aten("as_strided.default", "as_strided_copy.default")
def as_strided(
    out: Shape, x: Instruction, sizes: Sequence[int], strides: Sequence[int], offset: int | None = 0
) -> Instruction:
    """Elements by their places in memory, where those of the operand lie in order."""
    places = _in_memory(sizes, strides, offset)
    flat, size = to_dims(x, (x.shape.size,)), out.size
    if (np.diff(places.reshape(-1)) == 1).all() and size:
        first = int(places.flat[0])
        return to_dims(cut(flat, 0, first, first + size), out.dims)
    return take(flat, [constant(places)])


def _in_memory(
    sizes: Sequence[int], strides: Sequence[int], offset: int | None
) -> NDArray[np.int64]:
    """The place of each element in memory."""
    places = np.full(tuple(sizes), offset or 0, np.int64)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        steps = np.arange(size) * stride
        places += steps.reshape([-1 if k == axis else 1 for k in range(len(sizes))])
    return places


@aten("as_strided_scatter.default")
def as_strided_scatter(
    out: Shape, x: Instruction, part: Instruction, sizes: Sequence[int], strides: Sequence[int],
    offset: int | None = 0,
) -> Instruction:  # fmt: skip
    """An array with elements replaced that are given by their places in memory."""
    places = constant(_in_memory(sizes, strides, offset).reshape(-1))
    new = to_dims(converted(part, out.element_type), (part.shape.size,))
    flat = to_dims(x, (x.shape.size,))
    return to_dims(put(flat, [places], new, second(out.element_type)), out.dims)


def _on_diagonal(out: Shape, offset: int, one: int, other: int) -> tuple[list[int], NDArray[Any]]:
    """The dimensions beside two of them; the places of a diagonal among these two's elements."""
    one, other = at(one, out.rank), at(other, out.rank)
    rest = [k for k in range(out.rank) if k not in (one, other)]
    rows, columns = out.dims[one], out.dims[other]
    first_row, first_column = max(-offset, 0), max(offset, 0)
    count = max(min(rows - first_row, columns - first_column), 0)
    steps = np.arange(count, dtype=np.int64)
    return [one, other, *rest], np.stack([first_row + steps, first_column + steps])


@aten("diagonal_scatter.default")
def diagonal_scatter(
    out: Shape, x: Instruction, part: Instruction, offset: int = 0, one: int = 0, other: int = 1
) -> Instruction:
    """An array with a diagonal of two dimensions replaced."""
    if not part.shape.size:
        return x
    order, places = _on_diagonal(out, offset, one, other)
    front = permuted(x, order)
    last = part.shape.rank - 1
    new = permuted(converted(part, out.element_type), [last, *range(last)])
    made = put(front, [constant(p) for p in places], new, second(out.element_type))
    return permuted(made, [order.index(k) for k in range(out.rank)])


@aten("diagonal.default", "diagonal_copy.default")
def diagonal(
    out: Shape, x: Instruction, offset: int = 0, one: int = 0, other: int = 1
) -> Instruction:
    """A diagonal of two dimensions, as the last one."""
    if not out.size:
        return splat(0, out)
    order, places = _on_diagonal(x.shape, offset, one, other)
    made = take(permuted(x, order), [constant(p) for p in places])
    return permuted(made, [*range(1, out.rank), 0])
