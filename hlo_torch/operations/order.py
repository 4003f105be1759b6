"""Elements by their order: sorts, medians, places in sorted arrays."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from hlo.instruction import Instruction
from hlo.types.element_type import S64
from hlo.types.shape import array
from hlo_torch.operations.indexing import along_axis, put, take
from hlo_torch.operations.reductions import amax, amin, running_maximum, with_place
from hlo_torch.operations.table import Value, at, aten, binary, common, converted
from optimizer.derivative.bodies import computation
from optimizer.derivative.table import element, total
from optimizer.expanders.parts import counting, cut, equal, joined, spread, to_dims, to_type
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape


@cache
def order(kind: ElementType, *, descending: bool) -> Computation:
    """Whether one element comes before another; NaN counts as the greatest."""
    shapes = [array(kind)] * 2 + [array(S64)] * 2
    x, y, *places = [make("parameter", shape=s, number=k) for k, s in enumerate(shapes)]
    first, second = (y, x) if descending else (x, y)
    root = make("compare", first, second, direction="LT")
    if kind.is_floating:
        nan, other = (make("compare", v, v, direction="NE") for v in (second, first))
        root = make("or", root, make("and", nan, make("not", other)))
    return computation("before", [x, y, *places], root)


@aten("sort.default")
def sort(
    _out: None, x: Instruction, dim: int = -1, descending: bool = False
) -> tuple[Instruction, ...]:
    """Elements in order, and the places where they were; equal ones stay in order."""
    return sorted_along(x, dim, descending=descending)


@aten("sort.stable")
def sort_stable(
    _out: None, x: Instruction, *, dim: int = -1, descending: bool = False, **_: Any
) -> tuple[Instruction, ...]:
    """As `sort`."""
    return sorted_along(x, dim, descending=descending)


def sorted_along(x: Instruction, axis: int, *, descending: bool) -> tuple[Instruction, ...]:
    """Elements of a dimension in order, and their places."""
    if not x.shape.rank:
        return x, splat(0, array(S64))
    axis = at(axis, x.shape.rank)
    index = counting(S64, x.shape.dims, axis)
    called = (order(x.shape.element_type, descending=descending),)
    made = make("sort", x, index, dimensions=(axis,), is_stable=True, called=called)
    return element(made, 0), element(made, 1)


@aten("topk.default")
def topk(
    _out: None, x: Instruction, k: int, axis: int = -1, largest: bool = True, *_: Any, **_k: Any
) -> tuple[Instruction, ...]:
    """The greatest elements of a dimension, and their places."""
    if not x.shape.rank:
        return sorted_along(x, axis, descending=largest)
    axis = at(axis, x.shape.rank)
    return tuple(cut(v, axis, 0, k) for v in sorted_along(x, axis, descending=largest))


@aten("kthvalue.default")
def kthvalue(
    _out: None, x: Instruction, k: int, axis: int = -1, keep: bool = False
) -> tuple[Instruction, ...]:
    """The k-th smallest element of a dimension, from 1, and its place."""

    def place(_values: Instruction, dims: tuple[int, ...]) -> Instruction:
        return splat(k - 1, array(S64, dims))

    return _at_place(x, axis, keep, place)


def _at_place(
    x: Instruction,
    axis: int,
    keep: bool,
    place: Callable[[Instruction, tuple[int, ...]], Instruction],
) -> tuple[Instruction, ...]:  # fmt: skip
    """Elements of sorted dimensions, and their places.

    Parameters
    ----------
    place : in the sorted dimension, from that and the dimensions of the result, which has one
        element there.
    """
    if not x.shape.rank:
        return x, splat(0, array(S64))
    axis = at(axis, x.shape.rank)
    values, places = sorted_along(x, axis, descending=False)
    dims = (*x.shape.dims[:axis], 1, *x.shape.dims[axis + 1 :])
    index = place(values, dims)
    found = (along_axis(v, axis, index) for v in (values, places))
    kept = dims if keep else (*dims[:axis], *dims[axis + 1 :])
    return tuple(to_dims(v, kept) for v in found)


def _is_nan(x: Instruction) -> Instruction:
    return make("compare", x, x, direction="NE")


def _median(x: Instruction, axis: int, keep: bool, *, skips: bool) -> tuple[Instruction, ...]:
    """The lower one of both elements in the middle; NaN if there is one that is not skipped."""

    def middle(values: Instruction, dims: tuple[int, ...]) -> Instruction:
        size = values.shape.dims[at(axis, values.shape.rank)]
        if not values.shape.element_type.is_floating:
            return splat((size - 1) // 2, array(S64, dims))
        numbers = to_type(make("not", _is_nan(values)), S64)  # NaN comes last
        count = to_dims(total(numbers, (at(axis, values.shape.rank),)), dims)
        middle = make("maximum", count - 1, splat(0, count.shape)) / 2
        if skips:
            return middle
        return make("select", count < size, count, middle)

    return _at_place(x, axis, keep, middle)


@aten("median.dim")
def median(_out: None, x: Instruction, axis: int, keep: bool = False) -> tuple[Instruction, ...]:
    """The lower median of a dimension, and its place."""
    return _median(x, axis, keep, skips=False)


@aten("nanmedian.dim")
def nanmedian(_out: None, x: Instruction, axis: int, keep: bool = False) -> tuple[Instruction, ...]:
    """The same of the elements that are not NaN."""
    return _median(x, axis, keep, skips=True)


@aten("median.default")
def median_of_all(_out: Shape, x: Instruction) -> Instruction:
    """The lower median of all elements."""
    return _median(to_dims(x, (x.shape.size,)), 0, False, skips=False)[0]


@aten("nanmedian.default")
def nanmedian_of_all(_out: Shape, x: Instruction) -> Instruction:
    """The lower median of all elements that are not NaN."""
    return _median(to_dims(x, (x.shape.size,)), 0, False, skips=True)[0]


@aten("mode.default")
def mode(_out: None, x: Instruction, axis: int = -1, keep: bool = False) -> tuple[Instruction, ...]:
    """The element that occurs most often in a dimension, the smallest of several; its place."""

    def last_of_longest(values: Instruction, dims: tuple[int, ...]) -> Instruction:
        k = at(axis, values.shape.rank)
        size = values.shape.dims[k]
        numbers = counting(S64, values.shape.dims, k)
        new = make("compare", cut(values, k, 1, size), cut(values, k, 0, size - 1), direction="NE")
        begun = make("select", new, cut(numbers, k, 1, size), splat(0, array(S64, new.shape.dims)))
        first = joined([splat(0, array(S64, dims)), begun], k)
        starts = running_maximum(first, k)
        return to_dims(with_place(numbers - starts, k, "GT")[1], dims)

    return _at_place(x, axis, keep, last_of_longest)


# ------------------------------------------------------------------- places in sorted arrays


def _searched(edges: Instruction, values: Instruction, *, right: bool) -> Instruction:
    """The number of elements of the last dimension that come before each value: by bisection.

    Parameters
    ----------
    edges : sorted; its other dimensions are those of the values, or there are none.
    right : whether elements that are equal to a value come before it.
    """
    size, dims = edges.shape.dims[-1], values.shape.dims
    low, high = splat(0, array(S64, dims)), splat(size, array(S64, dims))
    kind = common(edges, values) if values.shape.rank else edges.shape.element_type
    values = converted(values, kind)
    for _ in range(size.bit_length()):
        middle = (low + high) / 2
        inside = make("minimum", middle, splat(max(size - 1, 0), middle.shape))
        last = edges.shape.rank - 1
        found = along_axis(edges, last, inside) if last else take(edges, [inside])
        found = converted(found, kind)
        # NaN is greater than all numbers.
        before = make("not", make("compare", found, values, direction="GT" if right else "GE"))
        if kind.is_floating:
            nan, other = _is_nan(values), _is_nan(found)
            before = make("select", other, nan if right else splat(False, nan.shape), before)
        open_ = low < high
        goes_on = make("and", open_, before)
        low, high = (
            make("select", goes_on, middle + 1, low),
            make("select", make("and", open_, make("not", before)), middle, high),
        )
    return low


@aten("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    out: Shape, edges: Instruction, values: Value, *, right: bool = False, side: str | None = None,
    sorter: Instruction | None = None, **_: bool,
) -> Instruction:  # fmt: skip
    """The place of each value in a sorted array, so that it stays sorted."""
    if sorter is not None:
        edges = along_axis(edges, edges.shape.rank - 1, sorter)
    if not isinstance(values, Instruction):
        values = splat(values, array(edges.shape.element_type, out.dims))
    return converted(_searched(edges, values, right=right or side == "right"), out.element_type)


@aten("bucketize.Tensor", "bucketize.Scalar")
def bucketize(
    out: Shape, values: Value, edges: Instruction, *, right: bool = False, **_: bool
) -> Instruction:
    """The same with its operands exchanged."""
    return searchsorted(out, edges, values, right=right)


@aten("histc.default")
def histc(
    out: Shape, x: Instruction, bins: int = 100, least: float = 0, most: float = 0
) -> Instruction:
    """Numbers of elements in ranges of equal size, of which the last one is closed."""
    kind = x.shape.element_type
    flat = to_dims(x, (x.shape.size,))
    low, high = splat(least, array(kind)), splat(most, array(kind))
    if least == most:
        low, high = amin(array(kind), x), amax(array(kind), x)
        same = equal(low, high)
        low, high = make("select", same, low - 1, low), make("select", same, high + 1, high)
    low, high = (spread(v, flat.shape.dims) for v in (low, high))
    place = make("floor", (flat - low) / (high - low) * bins)
    index = to_type(make("minimum", place, splat(bins - 1, place.shape)), S64)
    inside = make("and", low <= flat, flat <= high)
    index = make("select", inside, index, splat(bins, index.shape))  # a place that is left out
    ones = splat(1, array(out.element_type, flat.shape.dims))
    return put(splat(0, out), [index], ones, binary("add", out.element_type))
