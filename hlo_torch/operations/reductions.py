"""Sums, extremes, their places, running sums, sorts."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

from hlo.types.element_type import PRED, S64
from hlo.types.shape import array
from hlo.types.values import WindowDim
from hlo_torch.operations.table import (
    RULES,
    Unsupported,
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
from optimizer.expanders.parts import counting, folded, number, spread, to_dims
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
    count = math.prod(x.shape.dims[axis] for axis in axes_of(axes, x.shape.rank))
    kind = x.shape.element_type
    sums = _fold(out.with_type(kind), x, axes, "add", number(0, kind))
    return converted(sums / count, out.element_type)


@aten("var.default")
def var(out: Shape, x: Instruction, axes: Axes, correction: float = 1, **_: Any) -> Instruction:
    """The variance over some dimensions."""
    x, over = _accumulated(out, x), axes_of(axes, x.shape.rank)
    count = math.prod(x.shape.dims[axis] for axis in over)
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
def chooser(kind: ElementType, direction: str, *, last: bool = False) -> Computation:
    """The choice of one of two elements with their places, as torch chooses.

    NaN wins, then the extreme, then the first place, or the last one.
    """
    shapes = (array(kind), array(S64)) * 2
    x, i, y, j = given = [make("parameter", shape=s, number=k) for k, s in enumerate(shapes)]
    better = make("compare", x, y, direction=direction)
    same = make("compare", x, y, direction="EQ")
    if kind.is_floating:
        nan, other = (make("compare", v, v, direction="NE") for v in (x, y))
        better = make("or", better, make("and", nan, make("not", other)))
        same = make("or", same, make("and", nan, other))
    chosen = make("and", same, make("compare", i, j, direction="GT" if last else "LT"))
    wins = make("or", better, chosen)
    root = make("tuple", make("select", wins, x, y), make("select", wins, i, j))
    return computation("choose", given, root)


def with_place(x: Instruction, axis: int, direction: str) -> tuple[Instruction, Instruction]:
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
    return to_dims(with_place(x, at(axis, x.shape.rank), direction)[1], out.dims)


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
        found = with_place(x, axis, direction)
        dims = (*x.shape.dims[:axis], *((1,) if keep else ()), *x.shape.dims[axis + 1 :])
        return tuple(to_dims(v, dims) for v in found)

    return extreme


RULES["max.dim"], RULES["min.dim"] = _with_place("GT"), _with_place("LT")


def _windows(x: Instruction, axis: int) -> tuple[WindowDim, ...]:
    """Each element with all before it in a dimension: a window that ends at the element."""
    size = x.shape.dims[axis]
    window = [WindowDim(1)] * x.shape.rank
    window[axis] = WindowDim(size, pad_low=size - 1)
    return tuple(window)


def _running(opcode: str, out: Shape, x: Instruction, axis: int) -> Instruction:
    if not out.size or not out.rank:
        return converted(x, out.element_type)
    x = _accumulated(out, x)
    initial = number(0 if opcode == "add" else 1, x.shape.element_type)
    called = binary(opcode, x.shape.element_type)
    return converted(_folded_so_far(x, at(axis, out.rank), initial, called), out.element_type)


def _folded_so_far(
    x: Instruction, axis: int, initial: Instruction, called: Computation
) -> Instruction:
    return make("reduce-window", x, initial, window=_windows(x, axis), called=(called,))


def running_sum(x: Instruction) -> Instruction:
    """The sum of an element of a vector and all before it."""
    kind = x.shape.element_type
    return _folded_so_far(x, 0, number(0, kind), binary("add", kind))


def running_maximum(x: Instruction, axis: int) -> Instruction:
    """The greatest element so far."""
    kind = x.shape.element_type
    return _folded_so_far(x, axis, least(kind), binary("maximum", kind))


def _running_place(direction: str) -> Callable[..., tuple[Instruction, ...]]:
    def extreme(_out: None, x: Instruction, axis: int) -> tuple[Instruction, ...]:
        if not x.shape.rank or not x.shape.size:
            return x, splat(0, array(S64, x.shape.dims))
        axis, kind = at(axis, x.shape.rank), x.shape.element_type
        worst = least(kind) if direction == "GT" else greatest(kind)
        made = make(
            *("reduce-window", x, counting(S64, x.shape.dims, axis), worst, number(-1, S64)),
            window=_windows(x, axis), called=(chooser(kind, direction, last=True),),
        )  # fmt: skip
        return element(made, 0), element(made, 1)

    return extreme


RULES["cummax.default"], RULES["cummin.default"] = _running_place("GT"), _running_place("LT")


@cache
def _log_of_sum(kind: ElementType) -> Computation:
    """The logarithm of the sum of two numbers' exponentials."""
    x, y = given = [make("parameter", shape=array(kind), number=k) for k in (0, 1)]
    most, rest = make("maximum", x, y), make("minimum", x, y)
    share = make("log-plus-one", make("exponential", make("subtract", rest, most)))
    # Where both are infinite, their difference is no number.
    equal_ = make("compare", x, y, direction="EQ")
    infinite = make("compare", make("abs", x), splat(math.inf, array(kind)), direction="EQ")
    alone = make("and", equal_, infinite)
    return computation("log_of_sum", given, make("select", alone, x, make("add", most, share)))


@aten("logcumsumexp.default")
def logcumsumexp(out: Shape, x: Instruction, axis: int) -> Instruction:
    """The logarithm of running sums of exponentials."""
    if not out.size or not out.rank:
        return x
    if out.element_type.is_complex:
        raise Unsupported("of complex numbers")
    x = _accumulated(out, x)
    kind = x.shape.element_type
    made = _folded_so_far(x, at(axis, out.rank), number(-math.inf, kind), _log_of_sum(kind))
    return converted(made, out.element_type)


@aten("cumsum.default")
def cumsum(out: Shape, x: Instruction, axis: int, **_: Any) -> Instruction:
    """Running sums."""
    return _running("add", out, x, axis)


@aten("cumprod.default")
def cumprod(out: Shape, x: Instruction, axis: int, **_: Any) -> Instruction:
    """Running products."""
    return _running("multiply", out, x, axis)
