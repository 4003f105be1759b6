"""Gather and scatter: reading and writing windows of an array at computed offsets.

Both see the indices as a batch of index vectors. A vector gives the start of a window in some of
the operand's dimensions; in the others the window starts at 0. Where the window covers a dimension
that no index moves it in, the dimension is *whole* and can stay a slice: only the others need
index arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hlo.monoid import monoid_of
from interpreter.folded import UFUNCS, decode, encode
from interpreter.lift import lifted
from interpreter.numbers.widths import type_of, widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]


class BatchedWindows(NamedTuple):
    """Windows of an array, one an index of a batch.

    Attributes
    ----------
    batch : shape of the batch.
    sizes : of the window, a number a dimension of the array; 1 where it has one element.
    starts : by dimension of the array, shape `batch`; dimensions without an entry start at 0.
    """

    batch: tuple[int, ...]
    sizes: tuple[int, ...]
    starts: dict[int, Array]

    def limits(self, dims: tuple[int, ...]) -> dict[int, int]:
        """The last start in each dimension at which the window lies inside."""
        return {d: dims[d] - self.sizes[d] for d in self.starts}

    def moved(self, dims: tuple[int, ...]) -> list[int]:
        """The dimensions that are not whole."""
        return [d for d, n in enumerate(dims) if d in self.starts or self.sizes[d] != n]

    def indices(self, moved: list[int], mask: Array | None = None) -> tuple[Array, ...]:
        """Indices into the moved dimensions, of shape batch + sizes of the moved dimensions.

        Parameters
        ----------
        mask : pred of shape `batch`; the batch becomes one dimension with these indices only.
        """
        indices: list[Array] = []
        for axis, d in enumerate(moved):
            steps = np.arange(self.sizes[d])
            start = self.starts.get(d, np.zeros(self.batch, np.int64))
            start = start if mask is None else start[mask]
            shape = [1] * len(moved)
            shape[axis] = self.sizes[d]
            indices.append(start.reshape(start.shape + (1,) * len(moved)) + steps.reshape(shape))
        return tuple(indices)


def _windows(
    indices: Array,
    vector_dim: int,
    index_map: tuple[int, ...],
    batching: tuple[tuple[int, ...], tuple[int, ...]],
    sizes: tuple[int, ...],
) -> BatchedWindows:
    """The windows that index vectors speak of.

    Parameters
    ----------
    vector_dim : the dimension of `indices` that holds a vector; vectors of one if there is none.
    index_map : the operand's dimension for each element of a vector.
    batching : operand dimensions, and the dimensions of `indices` that count along with them.
    """
    if vector_dim == indices.ndim:
        indices = indices[..., np.newaxis]
    vectors = np.moveaxis(indices, vector_dim, -1)
    batch = vectors.shape[:-1]
    starts = {d: _signed(vectors[..., i]) for i, d in enumerate(index_map)}
    for operand_dim, indices_dim in zip(*batching, strict=True):
        axis = indices_dim - (indices_dim > vector_dim)
        size: int = batch[axis]
        count = np.arange(size).reshape(-1, *[1] * (len(batch) - axis - 1))
        starts[operand_dim] = np.broadcast_to(count, batch)
    return BatchedWindows(batch, sizes, starts)


def _signed(indices: Array) -> Array:
    """Indices as s64; those of u64 that it lacks are out of every range anyway."""
    wide = widened(indices)
    if wide.dtype == np.uint64:
        wide = np.minimum(wide, np.uint64(np.iinfo(np.int64).max))
    return wide.astype(np.int64)


@evaluates("gather", xla="Gather")
def evaluate_gather(instr: Instruction, attrs: a.Gather, operand: Array, indices: Array) -> Array:
    """Collect windows of the operand that start at the index vectors.

    A start is clamped so that its window lies in the operand. Where slices of size 0 are collapsed,
    there are no elements to collect, and the result is 0.

    Returns
    -------
    Array
        the dimensions `offset_dims` are the window's, without those collapsed or batching; the
        others are the batch's, in order.
    """
    dropped = (*attrs.collapsed_slice_dims, *attrs.operand_batching_dims)
    if operand.size == 0 or any(attrs.slice_sizes[d] == 0 for d in dropped):
        return np.zeros(instr.shape.dims, operand.dtype)
    batching = (attrs.operand_batching_dims, attrs.start_indices_batching_dims)
    windows = _windows(
        indices, attrs.index_vector_dim, attrs.start_index_map, batching, attrs.slice_sizes
    )
    limits = windows.limits(operand.shape)
    starts = {d: np.clip(start, 0, limits[d]) for d, start in windows.starts.items()}
    windows = windows._replace(starts=starts)
    moved = windows.moved(operand.shape)
    whole = [d for d in range(operand.ndim) if d not in moved]
    # With dots, a single element is an array, too, also one of Python's objects.
    gathered = operand.transpose(moved + whole)[(*windows.indices(moved), ...)]
    if not moved:
        gathered = np.broadcast_to(gathered, windows.batch + gathered.shape)
    # Now batch, moved and whole dimensions: drop those of one element, put the rest in order.
    rank = len(windows.batch)
    axis = {d: rank + i for i, d in enumerate(moved + whole)}
    axes = [axis[d] for d in range(operand.ndim) if d not in dropped]
    order = _interleave(list(range(rank)), axes, attrs.offset_dims)
    gone = tuple(axis[d] for d in dropped)
    return gathered.transpose((*order, *gone)).reshape([gathered.shape[i] for i in order])


def _interleave(batch: list[int], window: list[int], window_dims: tuple[int, ...]) -> list[int]:
    """The index of an element: that in the window at `window_dims`, of the batch elsewhere."""
    rest, inside = iter(batch), dict(zip(window_dims, window, strict=True))
    return [inside[i] if i in inside else next(rest) for i in range(len(batch) + len(window))]


@evaluates("scatter", xla="Scatter")
def evaluate_scatter(
    frame: Frame, instr: Instruction, attrs: a.Scatter, *operands: Array
) -> Array | tuple[Array, ...]:
    """Combine windows of updates into the operand at the index vectors.

    A window that does not lie in the operand whole is dropped. Where windows meet, the computation
    combines them one after the other.

    Parameters
    ----------
    operands : n arrays of one shape, the indices, then n updates of one shape.

    Returns
    -------
    Array or tuple of Array
        the operands' shape; one array, or a tuple of n.
    """
    half = len(operands) // 2
    arrays, indices, updates = operands[:half], operands[half], operands[half + 1 :]
    dims = arrays[0].shape
    if 0 in dims:
        # Not even a window of one element lies in an empty array.
        return arrays if instr.shape.is_tuple else arrays[0]
    dropped = (*attrs.inserted_window_dims, *attrs.input_batching_dims)
    window_dims = [d for d in range(len(dims)) if d not in dropped]
    # By dimension of the operand, that of the updates which runs through the window.
    axis = dict(zip(window_dims, attrs.update_window_dims, strict=True))
    sizes = tuple(updates[0].shape[axis[d]] if d in axis else 1 for d in range(len(dims)))
    batching = (attrs.input_batching_dims, attrs.scatter_indices_batching_dims)
    index_map = attrs.scatter_dims_to_operand_dims
    windows = _windows(indices, attrs.index_vector_dim, index_map, batching, sizes)
    inside = np.ones(windows.batch, np.bool_)
    for d, limit in windows.limits(dims).items():
        inside &= (windows.starts[d] >= 0) & (windows.starts[d] <= limit)

    # Moved dimensions go to the front in the operand, and after the batch in the updates.
    moved = windows.moved(dims)
    whole = [d for d in range(len(dims)) if d not in moved]
    order = moved + whole
    into = [x.transpose(order) for x in arrays]
    targets = _positions(windows, inside, dims, moved, whole)
    scatter_dims = [i for i in range(updates[0].ndim) if i not in attrs.update_window_dims]
    update_order = scatter_dims + [axis[d] for d in order if d in axis]
    news = [u.transpose(update_order)[inside].reshape(-1) for u in updates]
    results = combine_at(frame, instr.called[0], [x.reshape(-1) for x in into], targets, news)
    back = np.argsort(order)
    shaped = tuple(r.reshape(x.shape).transpose(back) for r, x in zip(results, into, strict=True))
    return shaped if instr.shape.is_tuple else shaped[0]


def _positions(
    windows: BatchedWindows,
    inside: Array,
    dims: tuple[int, ...],
    moved: list[int],
    whole: list[int],
) -> Array:
    """The place of each element of the windows that lie inside, in the operand laid out flat.

    The operand is a matrix here: a row for each index into the moved dimensions, then the whole
    ones as columns.
    """
    width = int(np.prod([dims[d] for d in whole]))
    rows = _row_numbers([dims[d] for d in moved], windows.indices(moved, inside))
    rows = np.broadcast_to(rows, (int(inside.sum()), *(windows.sizes[d] for d in moved)))
    return (rows[..., np.newaxis] * width + np.arange(width)).reshape(-1)


def _row_numbers(sizes: list[int], indices: tuple[Array, ...]) -> Array:
    """Row-major numbers of elements of an array of the given sizes."""
    number = np.zeros((1,) * (len(sizes) + 1), np.int64)
    for size, index in zip(sizes, indices, strict=True):
        number = number * size + index
    return number


def combine_at(
    frame: Frame,
    computation: Computation,
    arrays: Sequence[Array],
    targets: Array,
    updates: Sequence[Array],
) -> list[Array]:
    """Combine updates into one-dimensional arrays, one after the other.

    A sum of small floats is rounded after each update, as by both backends of XLA: a sum of 100
    ones in f8e5m2 stays at 8, for the next number is 10.

    Parameters
    ----------
    targets : shape (n,), indices into the arrays; one may come many times.
    updates : an array of shape (n,) for each of `arrays`.
    """
    results = [array.copy() for array in arrays]
    monoid = monoid_of(computation)
    kind = type_of(arrays[0])
    # Small floats are rounded after each step.
    if monoid is not None and not (kind.bits < 32 and monoid.rounds(kind)):
        numbers = encode(monoid, results[0])
        UFUNCS[monoid.opcode].at(numbers, targets, encode(monoid, updates[0]))
        return [decode(monoid, numbers, kind)]
    if computation.root.opcode == "parameter" and len(computation.parameters) == 2:
        # The new value or the old one; NumPy too keeps the last of several new ones.
        if computation.root is computation.parameters[1]:
            results[0][targets] = updates[0]
        return results
    for turn in _turns(targets):
        at = targets[turn]
        news = lifted(frame, computation, *(r[at] for r in results), *(u[turn] for u in updates))
        for result, new in zip(results, news, strict=True):
            result[at] = new
    return results


def _turns(targets: Array) -> list[Array]:
    """Positions of `targets` in turns: each turn holds a target once, and keeps their order."""
    if not len(targets):
        return []
    order = np.argsort(targets, kind="stable")
    ordered = targets[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    first = np.maximum.accumulate(np.where(new, np.arange(len(targets)), 0))
    # How many equal targets come before.
    rank = np.arange(len(targets)) - first
    by_rank = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank))
    return np.split(order[by_rank], ends[:-1])
