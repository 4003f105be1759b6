"""Reads and writes at places that tensors hold.

torch counts negative places from the end, and refuses those outside of an array when it runs. HLO
moves them inside when it reads, and leaves them out when it writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.instruction import Computation
from hlo.types.element_type import PRED, S64
from hlo.types.shape import array
from hlo.types.values import SliceDim
from hlo_torch.operations.table import Unsupported, at, aten, binary, broadcast, converted, to_shape
from optimizer.derivative.table import total
from optimizer.expanders.parts import (
    counting,
    equal,
    joined,
    permuted,
    spread,
    to_dims,
    to_type,
)
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

# The computations of scatters, by torch's names for them.
REDUCTIONS = {"sum": "add", "add": "add", "prod": "multiply", "multiply": "multiply",
              "amax": "maximum", "amin": "minimum"}  # fmt: skip


def _second(kind: ElementType) -> Computation:
    """The computation that keeps the new one of two elements."""
    x, y = (make("parameter", shape=array(kind), number=k) for k in (0, 1))
    return Computation("new", (x, y), y)


def _inside(index: Instruction, size: int) -> Instruction:
    """Places that are counted from the beginning."""
    index = to_type(index, S64)
    return make("select", index < 0, index + size, index)


def _vectors(places: Sequence[Instruction], sizes: Sequence[int]) -> Instruction:
    """Places of several dimensions as vectors, along a last dimension."""
    dims = (*places[0].shape.dims, 1)
    parts = [to_dims(_inside(p, n), dims) for p, n in zip(places, sizes, strict=False)]
    return joined(parts, len(dims) - 1)


def take(x: Instruction, places: Sequence[Instruction]) -> Instruction:
    """The elements of the first dimensions at some places, all of one shape."""
    count, rank = len(places), places[0].shape.rank
    return make(
        "gather", x, _vectors(places, x.shape.dims),
        offset_dims=tuple(range(rank, rank + x.shape.rank - count)),
        collapsed_slice_dims=tuple(range(count)), start_index_map=tuple(range(count)),
        index_vector_dim=rank, slice_sizes=((1,) * count + x.shape.dims[count:]),
    )  # fmt: skip


def put(
    x: Instruction, places: Sequence[Instruction], new: Instruction, combine: Computation
) -> Instruction:
    """Elements of the first dimensions at some places, combined with new ones."""
    count, rank = len(places), places[0].shape.rank
    return make(
        "scatter", x, _vectors(places, x.shape.dims), new,
        update_window_dims=tuple(range(rank, rank + x.shape.rank - count)),
        inserted_window_dims=tuple(range(count)), scatter_dims_to_operand_dims=tuple(range(count)),
        index_vector_dim=rank, called=(combine,),
    )  # fmt: skip


@aten("embedding.default")
def embedding(_out: Shape, table: Instruction, index: Instruction, *_: Any) -> Instruction:
    """Rows of a table."""
    return take(table, [index])


@aten("embedding_dense_backward.default")
def embedding_backward(
    out: Shape, grad: Instruction, index: Instruction, rows: int, padding: int, by_count: bool
) -> Instruction:
    """Gradients added up by row; that of the padding row is zero."""
    if by_count:
        raise Unsupported("gradients divided by the count of a row")
    index = to_type(index, S64)
    if padding >= 0:
        # A place outside is left out.
        index = _without(padding, index, index, rows)
    return put(splat(0, out), [index], grad, binary("add", out.element_type))


@aten("index_select.default")
def index_select(_out: Shape, x: Instruction, axis: int, index: Instruction) -> Instruction:
    """The elements of a dimension at some places."""
    axis = at(axis, x.shape.rank)
    front = [axis, *(k for k in range(x.shape.rank) if k != axis)]
    taken = take(permuted(x, front), [to_dims(index, (index.shape.size,))])
    return permuted(taken, [*range(1, axis + 1), 0, *range(axis + 1, x.shape.rank)])


def _along(index: Instruction, axis: int) -> list[Instruction]:
    """For each element of an index, its own place in all dimensions but one."""
    places = [counting(S64, index.shape.dims, k) for k in range(index.shape.rank)]
    places[axis] = index
    return places


@aten("gather.default")
def gather(_out: Shape, x: Instruction, axis: int, index: Instruction, **_: Any) -> Instruction:
    """Elements whose place in one dimension is given."""
    if not x.shape.rank:
        return broadcast(x, index.shape.dims)
    return take(x, _along(index, at(axis, x.shape.rank)))


@aten(*("scatter.src", "scatter.value", "scatter_reduce.two", "scatter.reduce"))
@aten("scatter.value_reduce")
def scatter(
    out: Shape, x: Instruction, axis: int, index: Instruction, new: Any, reduce: str = "", *,
    include_self: bool = True,
) -> Instruction:  # fmt: skip
    """An array with elements replaced whose place in one dimension is given."""
    if reduce and (reduce not in REDUCTIONS or not include_self):
        raise Unsupported(f"a scatter by {reduce}" if include_self else "without the elements")
    if not x.shape.rank:
        raise Unsupported("a scatter into a scalar")
    kind = out.element_type
    if hasattr(new, "shape"):
        new = converted(new, kind)
        if new.shape.dims != index.shape.dims:
            ranges = tuple(SliceDim(0, n) for n in index.shape.dims)
            new = make("slice", new, slice=ranges)
    else:
        new = to_shape(array(kind, index.shape.dims), new)
    combine = binary(REDUCTIONS[reduce], kind) if reduce else _second(kind)
    return put(x, _along(index, at(axis, x.shape.rank)), new, combine)


@aten("scatter_add.default")
def scatter_add(
    out: Shape, x: Instruction, axis: int, index: Instruction, new: Instruction
) -> Instruction:
    """An array with elements added whose place in one dimension is given."""
    return scatter(out, x, axis, index, new, "add")


class _IndexedDims:
    """The dimensions of x[:, i, j], with those that have places moved to the front."""

    def __init__(self, x: Instruction, places: Sequence[Instruction | None]) -> None:
        given = {k: p for k, p in enumerate(places) if p is not None}
        if any(p.shape.element_type is PRED for p in given.values()):
            raise Unsupported("places given by a mask, whose number is not known")
        rest = [k for k in range(x.shape.rank) if k not in given]
        self.order = [*given, *rest]
        dims: tuple[int, ...] = ()
        for place in given.values():
            dims = _together(dims, place.shape.dims)
        self.places = [broadcast(p, dims) for p in given.values()]
        # Places beside each other leave their dimensions where they are; others come first.
        first = min(given)
        beside = list(given) == list(range(first, first + len(given)))
        before = first if beside else 0
        count = len(dims)
        self.back = [*range(count, count + before), *range(count),
                     *range(count + before, count + len(rest))]  # fmt: skip


def _together(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions of two arrays that meet by broadcasting."""
    rank = max(len(one), len(other))
    one, other = (1,) * (rank - len(one)) + one, (1,) * (rank - len(other)) + other
    return tuple(m if n == 1 else n for n, m in zip(one, other, strict=True))


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(_out: Shape, x: Instruction, places: Sequence[Instruction | None]) -> Instruction:
    """x[i, :, j] with tensors of places."""
    indexed = _IndexedDims(x, places)
    return permuted(take(permuted(x, indexed.order), indexed.places), indexed.back)


@aten("index_put.default", "_unsafe_index_put.default")
def index_put(
    out: Shape, x: Instruction, places: Sequence[Instruction | None], new: Instruction,
    accumulate: bool = False,
) -> Instruction:  # fmt: skip
    """An array after x[i, :, j] = new, or +=."""
    masks = [p for p in places if p is not None and p.shape.element_type is PRED]
    if masks and len(places) == 1 and new.shape.size == 1 and not accumulate:
        mask = masks[0]
        chosen = spread(mask, out.dims, range(mask.shape.rank))
        return make("select", chosen, to_shape(out, to_dims(new, ())), x)
    indexed = _IndexedDims(x, places)
    kind = out.element_type
    front = permuted(x, indexed.order)
    count = len(indexed.places)
    taken = (*indexed.places[0].shape.dims, *front.shape.dims[count:])
    moved = tuple(taken[k] for k in indexed.back)
    back = [indexed.back.index(k) for k in range(len(moved))]
    values = permuted(broadcast(converted(new, kind), moved), back)
    combine = binary("add", kind) if accumulate else _second(kind)
    made = put(front, indexed.places, values, combine)
    return permuted(made, [indexed.order.index(k) for k in range(out.rank)])


# ------------------------------------------------------------------------------ embedding bags

_SUM, _MEAN = 0, 1


@aten("_embedding_bag.default", "_embedding_bag_forward_only.default")
def embedding_bag(
    _out: None, table: Instruction, index: Instruction, offsets: Instruction,
    _by_count: bool = False, mode: int = _SUM, _sparse: bool = False,
    weights: Instruction | None = None, include_last: bool = False, padding: int = -1,
) -> tuple[Instruction, ...]:  # fmt: skip
    """Sums or means of rows of a table, a bag for each offset; with the bags and their sizes."""
    if mode not in (_SUM, _MEAN):
        raise Unsupported("the greatest elements of a bag")
    count, kind = offsets.shape.dims[0] - include_last, table.shape.element_type
    bag = _bags(index, offsets, count)
    rows = _weighted(take(table, [index]), weights)
    kept = _without(padding, index, bag, count)
    sums = put(
        splat(0, array(kind, (count, table.shape.dims[1]))), [kept], rows, binary("add", kind)
    )
    ones = splat(1, array(S64, index.shape.dims))
    sizes = put(splat(0, array(S64, (count,))), [kept], ones, binary("add", S64))
    if mode == _MEAN:
        sums = sums / spread(_divisor(sizes, kind), sums.shape.dims, (0,))
    return sums, bag, sizes, offsets


def _bags(index: Instruction, offsets: Instruction, count: int) -> Instruction:
    """The bag of each place: as many offsets as are no greater than it, but for one."""
    dims = (index.shape.dims[0], count)
    begin = make("slice", offsets, slice=(SliceDim(0, count),))
    begun = spread(to_type(begin, S64), dims, (1,)) <= counting(S64, dims, 0)
    return total(to_type(begun, S64), (1,)) - 1


def _without(padding: int, index: Instruction, bag: Instruction, count: int) -> Instruction:
    """Bags; that of the padding row is none, and a scatter leaves it out."""
    if padding < 0:
        return bag
    is_padding = equal(to_type(index, S64), padding)
    return make("select", is_padding, splat(count, bag.shape), bag)


def _weighted(rows: Instruction, weights: Instruction | None) -> Instruction:
    return rows if weights is None else rows * spread(weights, rows.shape.dims, (0,))


def _divisor(sizes: Instruction, kind: ElementType) -> Instruction:
    return to_type(make("maximum", sizes, splat(1, sizes.shape)), kind)


@aten("_embedding_bag_dense_backward.default")
def embedding_bag_backward(
    out: Shape, grad: Instruction, index: Instruction, bag: Instruction, sizes: Instruction,
    _greatest: Any, rows: int, by_count: bool, mode: int, weights: Instruction | None,
    padding: int = -1,
) -> Instruction:  # fmt: skip
    """Gradients of bags, added up by row."""
    if mode not in (_SUM, _MEAN) or by_count:
        raise Unsupported("gradients of such bags")
    kind = out.element_type
    if mode == _MEAN:
        grad = grad / spread(_divisor(sizes, kind), grad.shape.dims, (0,))
    values = _weighted(take(grad, [bag]), weights)
    kept = _without(padding, index, to_type(index, S64), rows)
    return put(splat(0, out), [kept], values, binary("add", kind))


@aten("_embedding_bag_backward.default")
def embedding_bag_backward_from_offsets(
    out: Shape, grad: Instruction, index: Instruction, offsets: Instruction, _bag: Instruction,
    *rest: Any,
) -> Instruction:  # fmt: skip
    """Gradients of bags, added up by row; torch leaves the bags out for sums."""
    bag = _bags(index, offsets, grad.shape.dims[0])
    sizes, greatest, rows, by_count, mode, _sparse, *more = rest
    return embedding_bag_backward(
        out, grad, index, bag, sizes, greatest, rows, by_count, mode, *more
    )
