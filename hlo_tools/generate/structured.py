"""Operands for results of gathers, scatters, sorts, windows, convolutions and normalizations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.types.element_type import S32
from hlo.types.shape import array
from hlo.types.sharding import ReplicaGroups
from hlo.types.values import ConvDims, WindowDim
from hlo_tools.generate.operands import Wanted, need, operands_for
from hlo_tools.generate.random_shapes import SIZES

if TYPE_CHECKING:
    from random import Random

    from hlo.types.shape import Shape

    Dims = tuple[int, ...]


def _reducer(random: Random, shape: Shape) -> str:
    """A commutative operation that any order of folding leaves the same, to the bit."""
    kind = shape.element_type.kind
    need(kind != "complex")
    if kind == "pred":
        return random.choice(("and", "or"))
    return random.choice(("maximum", "minimum") if kind == "float" else ("add", "maximum"))


def _some(random: Random, rank: int) -> Dims:
    """Some dimensions, in order."""
    return tuple(d for d in range(rank) if random.random() < 0.5)


def _with(dims: Dims, position: int, size: int) -> Dims:
    return (*dims[:position], size, *dims[position:])


@operands_for("gather")
def _gather(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Slices that fill some dimensions of the result, at indices that fill the others."""
    offset = _some(random, shape.rank)
    rank = len(offset) + random.randint(0, 2)
    collapsed = tuple(sorted(random.sample(range(rank), rank - len(offset))))
    window = iter([shape.dims[d] for d in offset])
    sizes = tuple(1 if d in collapsed else next(window) for d in range(rank))
    indexed = tuple(random.sample(range(rank), random.randint(0, rank)))
    batch = tuple(n for d, n in enumerate(shape.dims) if d not in offset)
    vector = random.randint(0, len(batch))
    operand = shape.with_dims(tuple(n + random.choice((0, 0, 1, 2)) for n in sizes))
    attrs = {
        "offset_dims": offset,
        "collapsed_slice_dims": collapsed,
        "start_index_map": indexed,
        "index_vector_dim": vector,
        "slice_sizes": sizes,
    }
    return Wanted([operand, array(S32, _with(batch, vector, len(indexed)))], attrs)


@operands_for("scatter")
def _scatter(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Updates no larger than the operand, at any number of indices."""
    inserted = tuple(d for d in _some(random, shape.rank) if shape.dims[d] > 0)
    window = [random.randint(0, n) for d, n in enumerate(shape.dims) if d not in inserted]
    batch = tuple(random.choice(SIZES) for _ in range(random.randint(0, 2)))
    rank = len(window) + len(batch)
    window_dims = tuple(sorted(random.sample(range(rank), len(window))))
    windows, batches = iter(window), iter(batch)
    updates = tuple(next(windows if d in window_dims else batches) for d in range(rank))
    indexed = tuple(random.sample(range(shape.rank), random.randint(0, shape.rank)))
    vector = random.randint(0, len(batch))
    attrs = {
        "update_window_dims": window_dims,
        "inserted_window_dims": inserted,
        "scatter_dims_to_operand_dims": indexed,
        "index_vector_dim": vector,
    }
    indices = array(S32, _with(batch, vector, len(indexed)))
    operands = [shape, indices, shape.with_dims(updates)]
    return Wanted(operands, attrs, (_reducer(random, shape),))


@operands_for("sort")
def _sort(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Of one operand, up or down."""
    need(shape.rank > 0 and not shape.element_type.is_complex)
    along = random.randrange(shape.rank)
    attrs = {"dimensions": (along,), "is_stable": True}
    return Wanted([shape], attrs, (random.choice(("LT", "GT")),))


@operands_for("map")
def _map(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Of two operands."""
    need(not shape.element_type.is_complex)
    kind = shape.element_type.kind
    opcode = random.choice(("and", "or") if kind == "pred" else ("add", "subtract", "multiply"))
    return Wanted([shape, shape], {"dimensions": tuple(range(shape.rank))}, (opcode,))


def _window(random: Random, positions: int) -> tuple[WindowDim, int]:
    """A window with so many positions, and the size of the dimension that it moves over."""
    size, stride, dilation = (random.choice(n) for n in ((1, 1, 2, 3), (1, 1, 2), (1, 1, 2)))
    extent = (positions - 1) * stride + (size - 1) * dilation + 1 if positions else 0
    low, high = (random.choice((0, 0, 0, 1)) for _ in range(2))
    need(extent >= low + high)
    window = WindowDim(size, stride, low, high, window_dilation=dilation)
    need(window.positions(extent - low - high) == positions)
    return window, extent - low - high


@operands_for("reduce-window")
def _reduce_window(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Windows with strides, padding and dilation."""
    windows = [_window(random, n) for n in shape.dims]
    operand = shape.with_dims(tuple(n for _, n in windows))
    attrs = {"window": tuple(w for w, _ in windows)}
    return Wanted([operand, shape.with_dims(())], attrs, (_reducer(random, shape),))


@operands_for("select-and-scatter")
def _select_and_scatter(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """To the largest or smallest element of each window."""
    need(shape.rank > 0 and shape.element_type.kind in ("signed", "unsigned", "float"))
    windows = tuple(WindowDim(random.randint(1, 2), random.randint(1, 2)) for _ in shape.dims)
    source = tuple(w.positions(n) for w, n in zip(windows, shape.dims, strict=True))
    operands = [shape, shape.with_dims(source), shape.with_dims(())]
    called = (random.choice(("GE", "LE")), _reducer(random, shape))
    return Wanted(operands, {"window": windows}, called)


@operands_for("convolution")
def _convolution(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Over one spatial dimension, with the dimensions of all arrays in any order."""
    need(shape.rank == 3 and shape.element_type.kind != "pred")
    orders = [random.sample(range(3), 3) for _ in range(3)]
    (ib, i_f, i_s), (ki, ko, ks), (ob, of, os) = orders
    window, size = _window(random, shape.dims[os])
    features = random.choice((1, 2, 3))
    roles = ({ib: shape.dims[ob], i_f: features, i_s: size}, {ki: features, ko: shape.dims[of]})
    kernel = {**roles[1], ks: window.size}
    labels = ConvDims(ib, i_f, (i_s,), ki, ko, (ks,), ob, of, (os,))
    operands = [shape.with_dims(tuple(r[d] for d in range(3))) for r in (roles[0], kernel)]
    return Wanted(operands, {"window": (window,), "dim_labels": labels})


@operands_for("batch-norm-inference")
def _batch_norm_inference(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """With features along any dimension."""
    need(shape.rank > 0 and shape.element_type.is_floating)
    feature = random.randrange(shape.rank)
    statistics = shape.with_dims((shape.dims[feature],))
    return Wanted([shape, *[statistics] * 4], {"epsilon": 0.5, "feature_index": feature})


@operands_for("fft")
def _fft(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Forward or inverse, over one or two of the last dimensions."""
    need(shape.element_type.is_complex and shape.rank > 0)
    count = random.randint(1, min(2, shape.rank))
    kind = random.choice(("FFT", "IFFT"))
    return Wanted([shape], {"fft_type": kind, "fft_length": shape.dims[-count:]})


@operands_for("cholesky")
def _cholesky(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Of square matrices."""
    need(shape.element_type.kind in ("float", "complex") and shape.element_type.bits >= 32)
    need(shape.rank >= 2 and shape.dims[-1] == shape.dims[-2] > 0)
    return Wanted([shape], {"lower": random.random() < 0.5})


@operands_for("triangular-solve")
def _triangular_solve(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """With a square matrix on either side."""
    need(shape.element_type.kind in ("float", "complex") and shape.element_type.bits >= 32)
    need(shape.rank >= 2 and 0 not in shape.dims)
    left = random.random() < 0.5
    size = shape.dims[-2] if left else shape.dims[-1]
    attrs = {
        "left_side": left,
        "lower": random.random() < 0.5,
        "unit_diagonal": random.random() < 0.5,
        "transpose_a": random.choice(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")),
    }
    return Wanted([shape.with_dims((*shape.dims[:-2], size, size)), shape], attrs)


# Two devices, which work together.
PAIR = ReplicaGroups(((0, 1),))


@operands_for("all-reduce")
def _all_reduce(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Of two devices."""
    return Wanted([shape], {"replica_groups": PAIR}, (_reducer(random, shape),))


@operands_for("all-gather")
def _all_gather(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Of the halves of a dimension that two devices have."""
    even = [d for d, n in enumerate(shape.dims) if n % 2 == 0]
    need(bool(even))
    along = random.choice(even)
    half = tuple(n // 2 if d == along else n for d, n in enumerate(shape.dims))
    return Wanted([shape.with_dims(half)], {"replica_groups": PAIR, "dimensions": (along,)})


@operands_for("collective-permute")
def _collective_permute(random: Random, shape: Shape, _given: dict[str, Any]) -> Wanted:
    """Between two devices, one way or both."""
    pairs = random.choice((((0, 1),), ((0, 1), (1, 0)), ((1, 0),)))
    return Wanted([shape], {"source_target_pairs": pairs})
