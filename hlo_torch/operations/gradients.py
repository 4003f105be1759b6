"""Gradients that are derived from the operation itself, and the operations that have only these."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from hlo.build import module as build_module
from hlo.types.element_type import S64
from hlo.types.shape import array
from hlo_torch.operations.contraction import all_differences, pairs_of_rows
from hlo_torch.operations.embeddings import bags
from hlo_torch.operations.indexing import put, second, take
from hlo_torch.operations.reductions import running_sum
from hlo_torch.operations.table import aten, binary, broadcast, converted, floats_of, to_shape
from optimizer.calls.clone import uniquely_named
from optimizer.derivative.bodies import computation
from optimizer.derivative.derivative import DerivativePass
from optimizer.derivative.table import detached, element, plain, total
from optimizer.expanders.parts import counting, cut, permuted, spread, to_dims, to_type
from optimizer.log import Log
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


def pulled_back(
    function: Callable[..., Instruction], operands: Sequence[Instruction], cotangent: Instruction
) -> list[Instruction]:
    """The cotangents of a function's operands, which are floats, for that of its result."""
    given = [
        make("parameter", shape=plain(x.shape), number=k).with_(name=f"x.{k}")
        for k, x in enumerate(operands)
    ]
    root = function(*given)
    body = uniquely_named(computation("forward", given, root))
    with detached():
        made = DerivativePass(mode="vjp").run(build_module(body, "forward"), Log())
    whole = make("call", *operands, cotangent, called=(made.entry,), shape=made.entry.root.shape)
    return [element(whole, 1 + k) for k in range(len(operands))]


# ----------------------------------------------------------------------------------- distances


def _slope(difference: Instruction, distance: Instruction, p: float) -> Instruction:
    """The derivative of a p-norm along the last dimension; 0 where that is 0."""
    dims = difference.shape.dims
    whole = spread(distance, dims, range(len(dims) - 1))
    direction, size = make("sign", difference), make("abs", difference)
    if p == 0:
        return splat(0, difference.shape)
    if p == 1:
        return direction
    if p == math.inf:
        return direction * converted(size >= whole, difference.shape.element_type)
    share = make("power", size / whole, splat(p - 1, size.shape))
    nothing = make("compare", size, splat(0, size.shape), direction="EQ")
    return make("select", nothing, splat(0, size.shape), direction * share)


@aten("_cdist_backward.default")
def cdist_backward(
    out: Shape, grad: Instruction, x: Instruction, y: Instruction, p: float, distance: Instruction
) -> Instruction:
    """The gradient of distances by the rows of the first matrix."""
    difference = all_differences(grad.shape, x, y)
    slope = _slope(difference, distance, p)
    rank = grad.shape.rank
    made = total(slope * spread(grad, slope.shape.dims, range(rank)), (rank - 1,))
    return to_dims(made, out.dims)


@aten("_pdist_backward.default")
def pdist_backward(
    out: Shape, grad: Instruction, x: Instruction, p: float, distance: Instruction
) -> Instruction:
    """The gradient of the distances of a matrix's rows."""
    rows, columns = pairs_of_rows(x)
    slope = _slope(take(x, [rows]) - take(x, [columns]), distance, p)
    change = slope * spread(grad, slope.shape.dims, (0,))
    add = binary("add", out.element_type)
    return put(put(splat(0, out), [rows], change, add), [columns], make("negate", change), add)


# --------------------------------------------------------------------------- samples of images

_BORDER, _REFLECTION = 1, 2
_NEAREST, _CUBIC = 1, 2


class _Sampling:
    """Samples of images at the places of a grid, whose coordinates go from -1 to 1.

    References
    ----------
    `aten/src/ATen/native/GridSampler.h`
    """

    def __init__(self, mode: int, padding: int, corners: bool) -> None:
        self.mode, self.padding, self.corners = mode, padding, corners

    def __call__(self, x: Instruction, grid: Instruction) -> Instruction:
        """The samples, n c ..., of images, n c ..., at a grid, n ... k."""
        sizes, last = x.shape.dims[2:], grid.shape.rank - 1
        columns = [
            to_dims(cut(grid, last, k, k + 1), grid.shape.dims[:-1]) for k in range(len(sizes))
        ]
        # The first coordinate is that of the last dimension.
        places = [self._source(c, n) for c, n in zip(reversed(columns), sizes, strict=True)]
        images = permuted(x, [0, *range(2, x.shape.rank), 1])
        made = None
        for taps in product(*(self._taps(p, n) for p, n in zip(places, sizes, strict=True))):
            values = _values(images, [index for index, _ in taps])
            weight = math.prod((w for _, w in taps[1:]), start=taps[0][1])
            term = values * spread(weight, values.shape.dims, range(last))
            made = term if made is None else made + term
        assert made is not None
        return permuted(made, [0, last, *range(1, last)])

    def _source(self, x: Instruction, size: int) -> Instruction:
        """The place that a coordinate means; that of a cubic sample's taps is moved later."""
        x = (x + 1) * ((size - 1) / 2) if self.corners else (x + 1) * (size / 2) - 0.5
        return x if self.mode == _CUBIC else self._inside(x, size)

    def _inside(self, x: Instruction, size: int) -> Instruction:
        if self.padding == _REFLECTION:
            low, high = (0.0, size - 1.0) if self.corners else (-0.5, size - 0.5)
            x = _reflected(x, low, high - low)
        if self.padding:
            x = make("maximum", x, splat(0, x.shape))
            x = make("minimum", x, splat(size - 1, x.shape))
        return x

    def _taps(self, x: Instruction, size: int) -> list[tuple[Instruction, Instruction]]:
        """The places of a dimension that a sample is a sum of, and their weights."""
        if self.mode == _NEAREST:
            index = make("round-nearest-even", x)
            return [self._tap(index, splat(1, x.shape), size)]
        low = make("floor", x)
        share = x - low
        if self.mode == _CUBIC:
            weights = [_keys(share + 1), _keys(share), _keys(1 - share), _keys(2 - share)]
            return [
                self._tap(self._inside(low + step, size), w, size)
                for step, w in zip(range(-1, 3), weights, strict=True)
            ]
        return [self._tap(low, 1 - share, size), self._tap(low + 1, share, size)]

    def _tap(
        self, at: Instruction, weight: Instruction, size: int
    ) -> tuple[Instruction, Instruction]:
        index = to_type(at, S64)
        inside = make("and", index >= 0, index < size)
        index = make(
            "maximum", make("minimum", index, splat(size - 1, index.shape)), splat(0, index.shape)
        )
        return index, make("select", inside, weight, splat(0, weight.shape))


def _values(images: Instruction, places: Sequence[Instruction]) -> Instruction:
    batch = counting(S64, places[0].shape.dims, 0)
    return take(images, [batch, *places])


def _reflected(x: Instruction, low: float, span: float) -> Instruction:
    """Places between two borders, at which others are mirrored."""
    if not span:
        return splat(0, x.shape)
    away = make("abs", x - low)
    turns = make("floor", away / span)
    rest = away - turns * span
    is_odd = make(
        "compare", turns - make("floor", turns / 2) * 2, splat(1, x.shape), direction="EQ"
    )
    return make("select", is_odd, splat(span, x.shape) - rest, rest) + low


def _keys(x: Instruction) -> Instruction:
    """Keys' kernel of a distance from 0 to 2."""
    a = -0.75
    near = ((x * (a + 2) - (a + 3)) * x) * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return make("select", x <= 1, near, far)


@aten("grid_sampler_2d.default", "grid_sampler_3d.default")
def grid_sampler(
    out: Shape, x: Instruction, grid: Instruction, mode: int, padding: int, corners: bool
) -> Instruction:
    """Samples of images at the places of a grid."""
    wide = floats_of(out.element_type)
    made = _Sampling(mode, padding, corners)(converted(x, wide), converted(grid, wide))
    return converted(made, out.element_type)


@aten("grid_sampler_2d_backward.default", "grid_sampler_3d_backward.default")
def grid_sampler_backward(
    _out: None, grad: Instruction, x: Instruction, grid: Instruction, mode: int, padding: int,
    corners: bool, wanted: Sequence[bool],
) -> tuple[Instruction | None, ...]:  # fmt: skip
    """The gradients of samples by the images and the grid."""
    wide = floats_of(grad.shape.element_type)
    given = [converted(v, wide) for v in (x, grid)]
    found = pulled_back(_Sampling(mode, padding, corners), given, converted(grad, wide))
    both = [to_shape(v.shape, g) for v, g in zip((x, grid), found, strict=True)]
    return tuple(g if asked else None for g, asked in zip(both, wanted, strict=True))


# ------------------------------------------------------------------------------------- the rest


@aten("masked_scatter_backward.default")
def masked_scatter_backward(
    out: Shape, grad: Instruction, mask: Instruction, sizes: Sequence[int]
) -> Instruction:
    """The gradient of the elements that were put where a mask holds: those, and then zeros."""
    count = math.prod(sizes)
    chosen = to_dims(broadcast(mask, grad.shape.dims), (grad.shape.size,))
    place = running_sum(to_type(chosen, S64)) - 1
    # A place outside is left out.
    place = make("select", chosen, place, splat(count, place.shape))
    flat = splat(0, array(out.element_type, (count,)))
    values = to_dims(grad, (grad.shape.size,))
    return to_dims(put(flat, [place], values, second(out.element_type)), out.dims)


@aten("_embedding_bag_per_sample_weights_backward.default")
def weights_of_bags_backward(
    _out: Shape, grad: Instruction, table: Instruction, index: Instruction, offsets: Instruction,
    _bag: Instruction, _mode: int, padding: int = -1,
) -> Instruction:  # fmt: skip
    """The gradient of the weights of a bag's rows."""
    bag = bags(index, offsets, grad.shape.dims[0])
    found = total(take(grad, [bag]) * take(table, [index]), (1,))
    if padding < 0:
        return found
    is_padding = make(
        "compare", to_type(index, S64), splat(padding, index.shape.with_type(S64)), direction="EQ"
    )
    return make("select", is_padding, splat(0, found.shape), found)
