"""Pools: the extreme or the mean of each window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hlo.types.element_type import S64
from hlo.types.shape import array
from hlo.types.values import PaddingDim, WindowDim
from hlo_torch.operations.reductions import chooser
from hlo_torch.operations.table import aten, binary, converted, floats_of, least
from optimizer.derivative.movement import surrounded
from optimizer.derivative.table import element, transposes
from optimizer.expanders.parts import counting, number, spread, to_dims
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


def _each(values: Sequence[int], rank: int) -> list[int]:
    return [*values] if len(values) == rank else [values[0]] * rank


def _window(
    x: Instruction, size: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], *, ceil: bool,
) -> tuple[WindowDim, ...]:  # fmt: skip
    """A window over the last dimensions.

    Parameters
    ----------
    ceil : whether a window may begin inside and end outside; else it is left out.
    """
    rank = len(size)
    found = [WindowDim(1)] * (x.shape.rank - rank)
    rows = zip(
        x.shape.dims[-rank:], size, _each(stride, rank) if stride else size, _each(padding, rank),
        _each(dilation, rank), strict=True,
    )  # fmt: skip
    for whole, n, s, p, d in rows:
        span = d * (n - 1) + 1
        room = whole + 2 * p - span
        count = (-(-room // s) if ceil else room // s) + 1
        if ceil and (count - 1) * s >= whole + p:
            count -= 1
        high = (count - 1) * s + span - whole - p
        found.append(WindowDim(n, stride=s, pad_low=p, pad_high=high, window_dilation=d))
    return tuple(found)


def number_of_element(x: Instruction, rank: int) -> Instruction:
    """The number of each element among those of its image."""
    image = x.shape.dims[-rank:]
    count = 1
    for n in image:
        count *= n
    flat = to_dims(counting(S64, (count,), 0), image)
    return spread(flat, x.shape.dims, tuple(range(x.shape.rank - rank, x.shape.rank)))


@aten("max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def max_pool(
    _out: None, x: Instruction, size: Sequence[int], stride: Sequence[int] = (),
    padding: Sequence[int] = (0,), dilation: Sequence[int] = (1,), ceil: bool = False,
) -> tuple[Instruction, ...]:  # fmt: skip
    """The greatest element of each window, and its place in its image."""
    window = _window(x, size, stride, padding, dilation, ceil=ceil)
    kind = x.shape.element_type
    made = make(
        *("reduce-window", x, number_of_element(x, len(size))),
        *(least(kind), number((1 << 63) - 1, S64)),
        window=window, called=(chooser(kind, "GT"),),
    )  # fmt: skip
    return element(made, 0), element(made, 1)


@aten("max_pool2d_with_indices_backward.default", "max_pool3d_with_indices_backward.default")
def max_pool_backward(
    out: Shape, grad: Instruction, _x: Instruction, size: Sequence[int], _stride: Sequence[int],
    _padding: Sequence[int], _dilation: Sequence[int], _ceil: bool, places: Instruction,
) -> Instruction:  # fmt: skip
    """Gradients added up where the greatest elements were."""
    return scattered_to_images(out, grad, places, len(size))


def scattered_to_images(
    out: Shape, grad: Instruction, places: Instruction, rank: int
) -> Instruction:
    """Numbers added up where they belong in images of some dimensions."""
    images, room = math.prod(out.dims[:-rank]), math.prod(out.dims[-rank:])
    count = grad.shape.size // max(images, 1)
    index = (
        to_dims(places, (images, count))
        + make("iota", shape=array(S64, (images, count)), iota_dimension=0) * room
    )
    made = make(
        *("scatter", splat(0, array(out.element_type, (images * room,)))),
        *(to_dims(index, (images * count, 1)), to_dims(grad, (images * count,))),
        update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1, called=(binary("add", out.element_type),),
    )  # fmt: skip
    return to_dims(made, out.dims)


def _mean_window(
    x: Instruction, window: tuple[WindowDim, ...], divisor: int | None, *, padded: bool
) -> tuple[Instruction, Instruction]:
    """The sums of windows, as an instruction of x; and the numbers that these are divided by."""
    kind = x.shape.element_type
    add = (binary("add", kind),)
    sums = make("reduce-window", x, number(0, kind), window=window, called=add)
    if divisor:
        return sums, splat(divisor, sums.shape)
    counted, around = splat(1, x.shape), window
    if padded:
        # Padding counts as far as it was asked for; not what `ceil` has added after it.
        counted = surrounded(counted, [_pad(w) for w in window])
        counted = make("maximum", counted, splat(1, counted.shape))
        around = tuple(
            WindowDim(w.size, stride=w.stride, pad_high=max(w.pad_high - w.pad_low, 0))
            for w in window
        )
    return sums, make("reduce-window", counted, number(0, kind), window=around, called=add)


def _pad(w: WindowDim) -> PaddingDim:
    return PaddingDim(w.pad_low, w.pad_low if w.pad_high >= w.pad_low else w.pad_high)


@aten("avg_pool2d.default", "avg_pool3d.default")
def avg_pool(
    out: Shape, x: Instruction, size: Sequence[int], stride: Sequence[int] = (),
    padding: Sequence[int] = (0,), ceil: bool = False, padded: bool = True,
    divisor: int | None = None,
) -> Instruction:  # fmt: skip
    """The mean of each window."""
    x = converted(x, floats_of(x.shape.element_type))
    window = _window(x, size, stride, padding, (1,), ceil=ceil)
    sums, counts = _mean_window(x, window, divisor, padded=padded)
    return converted(sums / counts, out.element_type)


@aten("avg_pool2d_backward.default", "avg_pool3d_backward.default")
def avg_pool_backward(
    out: Shape, grad: Instruction, x: Instruction, size: Sequence[int], stride: Sequence[int],
    padding: Sequence[int], ceil: bool, padded: bool, divisor: int | None,
) -> Instruction:  # fmt: skip
    """Gradients shared by the elements of their windows."""
    kind = floats_of(x.shape.element_type)
    window = _window(x, size, stride, padding, (1,), ceil=ceil)
    sums, counts = _mean_window(splat(0, x.shape.with_type(kind)), window, divisor, padded=padded)
    (made, _) = transposes["reduce-window"](sums, (converted(grad, kind) / counts,), (True, False))
    return converted(made, out.element_type)  # type: ignore[arg-type]
