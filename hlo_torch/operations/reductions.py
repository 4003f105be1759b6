"""Sums, extremes, their places, running sums, sorts."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from hlo.types.element_type import PRED, S64
from hlo.types.shape import array
from hlo.types.values import WindowDim
from hlo_torch.operations.table import (
    RULES,
    at,
    aten,
    axes_of,
    binary,
    converted,
    floats_of,
    greatest,
    least,
)
from optimizer.derivative.bodies import computation
from optimizer.derivative.table import element, total
from optimizer.expanders.parts import counting, cut, folded, number, spread, to_dims
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

Axes = int | list[int] | None


def _fold(out: Shape, x: Instruction, axes: Axes, opcode: str, initial: Instruction) -> Instruction:
    made = folded(x, initial, axes_of(axes, x.shape.rank), binary(opcode, x.shape.element_type))
    return to_dims(converted(made, out.element_type), out.dims)


def _accumulated(out: Shape, x: Instruction) -> Instruction:
    """In the type in which torch adds up: f32 for smaller floats."""
    kind = out.element_type
    return converted(x, floats_of(kind) if kind.is_floating else kind)


@aten("sum.dim_IntList", "sum.default")
def sum_(out: Shape, x: Instruction, axes: Axes = None, *_: Any, **_k: Any) -> Instruction:
    """The sum over some dimensions, or all."""
    x = _accumulated(out, x)
    return _fold(out, x, axes, "add", number(0, x.shape.element_type))


@aten("prod.dim_int", "prod.default")
def prod_(out: Shape, x: Instruction, axes: Axes = None, *_: Any, **_k: Any) -> Instruction:
    """The product over a dimension, or all."""
    x = _accumulated(out, x)
    return _fold(out, x, axes, "multiply", number(1, x.shape.element_type))


@aten("mean.dim", "mean.default")
def mean(out: Shape, x: Instruction, axes: Axes = None, *_: Any, **_k: Any) -> Instruction:
    """The mean over some dimensions, or all."""
    x = _accumulated(out, x)
    count = prod(x.shape.dims[axis] for axis in axes_of(axes, x.shape.rank))
    kind = x.shape.element_type
    sums = _fold(out.with_type(kind), x, axes, "add", number(0, kind))
    return converted(sums / count, out.element_type)


@aten("var.default")
def var(out: Shape, x: Instruction, axes: Axes, correction: float = 1, **_: Any) -> Instruction:
    """The variance over some dimensions."""
    x, over = _accumulated(out, x), axes_of(axes, x.shape.rank)
    count = prod(x.shape.dims[axis] for axis in over)
    rest = tuple(k for k in range(x.shape.rank) if k not in over)
    apart = x - spread(total(x, over) / count, x.shape.dims, rest)
    made = total(apart * apart, over) / max(count - correction, 0)
    return to_dims(converted(made, out.element_type), out.dims)


@aten("amax.default", "max.default")
def amax(out: Shape, x: Instruction, axes: Axes = None, *_: Any) -> Instruction:
    """The greatest element over some dimensions, or all."""
    return _fold(out, x, axes, "maximum", least(x.shape.element_type))


@aten("amin.default", "min.default")
def amin(out: Shape, x: Instruction, axes: Axes = None, *_: Any) -> Instruction:
    """The least element over some dimensions, or all."""
    return _fold(out, x, axes, "minimum", greatest(x.shape.element_type))


@aten("any.default", "any.dim", "any.dims")
def any_(out: Shape, x: Instruction, axes: Axes = None, *_: Any) -> Instruction:
    """Whether there is an element that is not zero."""
    return _fold(out, converted(x, PRED), axes, "or", number(value=False, element_type=PRED))


@aten("all.default", "all.dim", "all.dims")
def all_(out: Shape, x: Instruction, axes: Axes = None, *_: Any) -> Instruction:
    """Whether no element is zero."""
    return _fold(out, converted(x, PRED), axes, "and", number(value=True, element_type=PRED))


@cache
def chooser(kind: ElementType, direction: str) -> Computation:
    """The choice of one of two elements with their places, as torch chooses.

    NaN wins, then the extreme, then the first place.
    """
    shapes = (array(kind), array(S64)) * 2
    x, i, y, j = given = [make("parameter", shape=s, number=k) for k, s in enumerate(shapes)]
    better = make("compare", x, y, direction=direction)
    same = make("compare", x, y, direction="EQ")
    if kind.is_floating:
        nan, other = (make("compare", v, v, direction="NE") for v in (x, y))
        better = make("or", better, make("and", nan, make("not", other)))
        same = make("or", same, make("and", nan, other))
    first = make("and", same, make("compare", i, j, direction="LT"))
    wins = make("or", better, first)
    root = make("tuple", make("select", wins, x, y), make("select", wins, i, j))
    return computation("choose", given, root)


def _place(x: Instruction, axis: int, direction: str) -> tuple[Instruction, Instruction]:
    """The extreme of a dimension, and its place."""
    kind = x.shape.element_type
    worst = least(kind) if direction == "GT" else greatest(kind)
    # A place that is greater than any loses against all.
    last = number((1 << 63) - 1, S64)
    index = counting(S64, x.shape.dims, axis)
    made = make(
        "reduce", x, index, worst, last, dimensions=(axis,), called=(chooser(kind, direction),)
    )
    return element(made, 0), element(made, 1)


def _arg(
    out: Shape, x: Instruction, axis: int | None = None, *_: Any, direction: str
) -> Instruction:
    if axis is None:
        x, axis = to_dims(x, (x.shape.size,)), 0
    elif not x.shape.rank:
        x = to_dims(x, (1,))
    return to_dims(_place(x, at(axis, x.shape.rank), direction)[1], out.dims)


@aten("argmax.default")
def argmax(out: Shape, x: Instruction, *rest: Any) -> Instruction:
    """The place of the greatest element."""
    return _arg(out, x, *rest, direction="GT")


@aten("argmin.default")
def argmin(out: Shape, x: Instruction, *rest: Any) -> Instruction:
    """The place of the least element."""
    return _arg(out, x, *rest, direction="LT")


def _with_place(direction: str) -> Callable[..., tuple[Instruction, ...]]:
    def extreme(
        _out: None, x: Instruction, axis: int, keep: bool = False
    ) -> tuple[Instruction, ...]:
        if not x.shape.rank:
            return x, splat(0, array(S64))
        axis = at(axis, x.shape.rank)
        found = _place(x, axis, direction)
        dims = (*x.shape.dims[:axis], *((1,) if keep else ()), *x.shape.dims[axis + 1 :])
        return tuple(to_dims(v, dims) for v in found)

    return extreme


RULES["max.dim"], RULES["min.dim"] = _with_place("GT"), _with_place("LT")


def _running(opcode: str, out: Shape, x: Instruction, axis: int) -> Instruction:
    """Each element with all before it: a window that ends at the element."""
    if not out.rank:
        return converted(x, out.element_type)
    x, axis = _accumulated(out, x), at(axis, out.rank)
    size = x.shape.dims[axis]
    window = [WindowDim(1)] * out.rank
    window[axis] = WindowDim(size, pad_low=size - 1)
    kind = x.shape.element_type
    initial = number(0 if opcode == "add" else 1, kind)
    called = (binary(opcode, kind),)
    made = make("reduce-window", x, initial, window=tuple(window), called=called) if size else x
    return converted(made, out.element_type)


@aten("cumsum.default")
def cumsum(out: Shape, x: Instruction, axis: int, **_: Any) -> Instruction:
    """Running sums."""
    return _running("add", out, x, axis)


@aten("cumprod.default")
def cumprod(out: Shape, x: Instruction, axis: int, **_: Any) -> Instruction:
    """Running products."""
    return _running("multiply", out, x, axis)


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
    axis = at(axis, x.shape.rank)
    return tuple(cut(v, axis, 0, k) for v in sorted_along(x, axis, descending=largest))
