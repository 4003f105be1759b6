"""Images in other sizes: each element of a result is a weighted sum of some of the operand's.

The places and the weights are known when the graph is compiled. Along each dimension they are a
table with a row for each element of the result, and the gradient is the same with the table
transposed: for each element of the operand, the elements of the result that it went into.

References
----------
`aten/src/ATen/native/UpSample.h`, `aten/src/ATen/native/AdaptivePooling.h`
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.element_type import PRED, S64
from hlo.types.limits import lowest_of
from hlo_torch.operations.indexing import index_select
from hlo_torch.operations.pooling import number_of_element, scattered_to_images
from hlo_torch.operations.reductions import chooser
from hlo_torch.operations.table import RULES, aten, converted, floats_of, least
from optimizer.derivative.table import element, total
from optimizer.expanders.parts import number, spread, to_dims
from optimizer.rewriting.make import constant, make, splat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@dataclass(frozen=True)
class Taps:
    """The elements that each element of a result is a sum of, in one dimension.

    Attributes
    ----------
    places, weights : a row for each element of the result; what is not used has a weight of 0.
    """

    places: NDArray[np.int64]
    weights: NDArray[np.float64]

    def transposed(self, size: int) -> Taps:
        """For each of the operand's elements, the results that it goes into."""
        uses: list[list[tuple[int, float]]] = [[] for _ in range(size)]
        for row, k in np.argwhere(self.weights).tolist():
            uses[int(self.places[row, k])].append((row, float(self.weights[row, k])))
        most = max((len(use) for use in uses), default=0) or 1
        made = Taps(np.zeros((size, most), np.int64), np.zeros((size, most)))
        for place, use in enumerate(uses):
            for k, (row, weight) in enumerate(use):
                made.places[place, k], made.weights[place, k] = row, weight
        return made

    def applied(self, x: Instruction, axis: int) -> Instruction:
        """The sums along a dimension."""
        rows, count = self.places.shape
        taken = index_select(x.shape, x, axis, constant(self.places.reshape(-1)))
        if count == 1 and (self.weights == 1).all():
            return taken
        dims = (*x.shape.dims[:axis], rows, count, *x.shape.dims[axis + 1 :])
        taken = to_dims(taken, dims)
        weights = constant(self.weights.astype(x.shape.element_type.dtype))
        products = taken * spread(weights, dims, (axis, axis + 1))
        if not self.weights.all():  # what is not used may be infinite
            used = spread(constant(self.weights != 0), dims, (axis, axis + 1))
            products = make("select", used, products, splat(0, products.shape))
        return total(products, (axis + 1,))


def _resampled(out: Shape, x: Instruction, taps: Sequence[Taps]) -> Instruction:
    """The last dimensions, each by its table; in f32 where floats are smaller."""
    made = converted(x, floats_of(out.element_type)) if out.element_type.is_floating else x
    for axis, one in enumerate(taps, out.rank - len(taps)):
        made = one.applied(made, axis)
    return converted(made, out.element_type)


# ---------------------------------------------------------------------------------- upsampling


def _sources(size: int, wanted: int, scale: float | None, *, corners: bool) -> NDArray[np.float64]:
    """The place in the operand of each element of the result."""
    rows = np.arange(wanted, dtype=np.float64)
    if corners:
        return rows * ((size - 1) / (wanted - 1) if wanted > 1 else 0.0)
    return (rows + 0.5) * _step(size, wanted, scale) - 0.5


def _step(size: int, wanted: int, scale: float | None) -> float:
    return 1 / scale if scale is not None and scale > 0 else size / wanted


def _nearest(size: int, wanted: int, scale: float | None, *, exact: bool = False) -> Taps:
    step = np.float32(_step(size, wanted, scale))
    rows = np.arange(wanted, dtype=np.float32)
    places = np.floor((rows + np.float32(0.5)) * step if exact else rows * step)
    places = np.minimum(places.astype(np.int64), size - 1)
    return Taps(places[:, None], np.ones((wanted, 1)))


def _linear(size: int, wanted: int, scale: float | None, *, corners: bool) -> Taps:
    at = np.maximum(_sources(size, wanted, scale, corners=corners), 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    share = np.clip(at - low, 0, 1)
    high = np.minimum(low + 1, size - 1)
    return Taps(np.stack([low, high], 1), np.stack([1 - share, share], 1))


def _cubic(size: int, wanted: int, scale: float | None, *, corners: bool) -> Taps:
    at = _sources(size, wanted, scale, corners=corners)
    low = np.floor(at).astype(np.int64)
    places = low[:, None] + np.arange(-1, 3)
    weights = _cubic_weight(at[:, None] - places, -0.75)
    return Taps(np.clip(places, 0, size - 1), weights)


def _cubic_weight(x: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """Keys' kernel, which is 1 at 0 and 0 at all other whole numbers."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _smooth(reach: float, kernel: Callable[[Any], Any]) -> Callable[..., Taps]:
    """Tables for smaller sizes, without aliases: the kernel grows with the step."""

    def taps(size: int, wanted: int, scale: float | None, *, corners: bool) -> Taps:
        step = (size - 1) / max(wanted - 1, 1) if corners else _step(size, wanted, scale)
        wide = max(step, 1.0)
        rows: list[tuple[NDArray[Any], NDArray[Any]]] = []
        for row in range(wanted):
            center = step * (row + 0.5)
            first = max(int(center - reach * wide + 0.5), 0)
            last = min(int(center + reach * wide + 0.5), size)
            places = np.arange(first, last)
            weights = kernel((places - center + 0.5) / wide)
            rows.append((places, weights / weights.sum()))
        most = max(len(places) for places, _ in rows)
        padded = [[np.pad(part, (0, most - len(part))) for part in row] for row in rows]
        return Taps(np.stack([p for p, _ in padded]), np.stack([w for _, w in padded]))

    return taps


def _triangle_weight(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(1 - np.abs(x), 0)


# By torch's name: the table of a dimension, and the number of dimensions.
_KINDS: dict[str, tuple[Callable[..., Taps], int]] = {
    **{f"upsample_nearest{n}d": (_nearest, n) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": (_nearest, n) for n in (1, 2, 3)},
    "upsample_linear1d": (_linear, 1),
    "upsample_bilinear2d": (_linear, 2),
    "upsample_trilinear3d": (_linear, 3),
    "upsample_bicubic2d": (_cubic, 2),
    "_upsample_bilinear2d_aa": (_smooth(1, _triangle_weight), 2),
    "_upsample_bicubic2d_aa": (_smooth(2, lambda x: _cubic_weight(x, -0.5)), 2),
}


def _upsampling(name: str, *, backward: bool) -> Callable[..., Instruction]:
    table, rank = _KINDS[name]
    has_corners = table is not _nearest

    def all_taps(sizes: Sequence[int], wanted: Sequence[int], rest: Sequence[Any]) -> list[Taps]:
        scales = [*rest[1 if has_corners else 0 :]] + [None] * rank
        how: dict[str, Any] = {"corners": rest[0]} if has_corners else {}
        if "exact" in name:
            how["exact"] = True
        return [table(*row, **how) for row in zip(sizes, wanted, scales[:rank], strict=True)]

    def forward_rule(
        out: Shape, x: Instruction, _sizes: Any, *rest: Any, **more: Any
    ) -> Instruction:
        wanted = out.dims[-rank:]
        rest = (*rest, *more.values())
        return _resampled(out, x, all_taps(x.shape.dims[-rank:], wanted, rest))

    def backward_rule(
        out: Shape, grad: Instruction, wanted: Sequence[int], dims: Sequence[int], *rest: Any,
        **more: Any,
    ) -> Instruction:  # fmt: skip
        sizes = dims[-rank:]
        taps = all_taps(sizes, wanted, (*rest, *more.values()))
        back = [one.transposed(size) for one, size in zip(taps, sizes, strict=True)]
        return _resampled(out, grad, back)

    return backward_rule if backward else forward_rule


for _name in _KINDS:
    RULES[f"{_name}.default"] = _upsampling(_name, backward=False)
    RULES[f"{_name}_backward.default"] = _upsampling(_name, backward=True)


# ------------------------------------------------------------------------------ adaptive pools


def _windows(size: int, wanted: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The elements of each window, and which of a row these are."""
    first = np.arange(wanted) * size // wanted
    last = -(-(np.arange(1, wanted + 1) * size) // wanted)
    most = int((last - first).max()) if wanted else 1
    places = first[:, None] + np.arange(most)
    inside = places < last[:, None]
    return np.where(inside, places, first[:, None]), inside


def _means(size: int, wanted: int) -> Taps:
    places, inside = _windows(size, wanted)
    return Taps(places, inside / inside.sum(1, keepdims=True))


def _adaptive_means(rank: int, *, backward: bool) -> Callable[..., Instruction]:
    def means(out: Shape, x: Instruction, like: Any) -> Instruction:
        """Means of as many windows as are asked for; or of gradients, shared by a window."""
        small = x.shape.dims[-rank:] if backward else out.dims[-rank:]
        large = like.shape.dims[-rank:] if backward else x.shape.dims[-rank:]
        taps = [_means(*pair) for pair in zip(large, small, strict=True)]
        if backward:
            taps = [one.transposed(size) for one, size in zip(taps, large, strict=True)]
        return _resampled(out, x, taps)

    return means


for _rank in (2, 3):
    RULES[f"_adaptive_avg_pool{_rank}d.default"] = _adaptive_means(_rank, backward=False)
    RULES[f"_adaptive_avg_pool{_rank}d_backward.default"] = _adaptive_means(_rank, backward=True)


@aten("adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def adaptive_max_pool(_out: None, x: Instruction, sizes: Sequence[int]) -> tuple[Instruction, ...]:
    """The greatest element of each of as many windows, and its place in its image."""
    rank, kind = len(sizes), x.shape.element_type
    first = x.shape.rank - rank
    place = number_of_element(x, rank)
    value, inside = x, splat(True, x.shape.with_type(PRED))
    for k, wanted in enumerate(sizes):
        axis = first + 2 * k
        size = value.shape.dims[axis]
        places, real = _windows(size, wanted)
        dims = (*value.shape.dims[:axis], *places.shape, *value.shape.dims[axis + 1 :])
        index = constant(places.reshape(-1))
        value, place, inside = (
            to_dims(index_select(v.shape, v, axis, index), dims) for v in (value, place, inside)
        )
        inside = make("and", inside, spread(constant(real), dims, (axis, axis + 1)))
    value = make("select", inside, value, splat(lowest_of(kind), value.shape))
    # What is no element of a window loses against all others.
    place = make("select", inside, place, splat((1 << 63) - 1, place.shape))
    axes = tuple(first + 2 * k + 1 for k in range(rank))
    made = make(
        *("reduce", value, place, least(kind), number((1 << 63) - 1, S64)),
        dimensions=axes, called=(chooser(kind, "GT"),),
    )  # fmt: skip
    return element(made, 0), element(made, 1)


@aten("adaptive_max_pool2d_backward.default", "adaptive_max_pool3d_backward.default")
def adaptive_max_pool_backward(
    out: Shape, grad: Instruction, _x: Instruction, places: Instruction
) -> Instruction:
    """Gradients added up where the greatest elements were."""
    rank = 2 if out.rank < 5 else 3
    return scattered_to_images(out, grad, places, rank)


# -------------------------------------------------------------------------- copies at a border


def _replication(rank: int) -> Callable[..., Instruction]:
    def backward(
        out: Shape, grad: Instruction, _x: Instruction, padding: Sequence[int]
    ) -> Instruction:
        """The gradients of an array with its border repeated."""
        taps: list[Taps] = []
        for k, size in enumerate(out.dims[-rank:]):
            low, high = padding[2 * (rank - 1 - k) : 2 * (rank - k)]
            places = np.clip(np.arange(-low, size + high), 0, size - 1)[:, None]
            taps.append(Taps(places, np.ones(places.shape)).transposed(size))
        return _resampled(out, grad, taps)

    return backward


for _rank in (1, 2, 3):
    RULES[f"replication_pad{_rank}d_backward.default"] = _replication(_rank)
