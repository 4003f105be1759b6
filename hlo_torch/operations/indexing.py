"""Reads and writes at places that tensors hold.

torch counts negative places from the end, and refuses those outside of an array when it runs. HLO
moves them inside when it reads, and leaves them out when it writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.instruction import Computation, Instruction
from hlo.monoid import MONOIDS
from hlo.types.element_type import PRED, S64
from hlo.types.shape import array
from hlo.types.values import SliceDim
from hlo_torch.operations.elementwise import floor_divide
from hlo_torch.operations.reductions import running_sum
from hlo_torch.operations.table import (
    Unsupported,
    at,
    aten,
    binary,
    broadcast,
    converted,
    to_shape,
)
from optimizer.expanders.parts import (
    counting,
    joined,
    permuted,
    spread,
    to_dims,
    to_type,
)
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

# The computations of scatters, by torch's names for them.
REDUCTIONS = {"sum": "add", "add": "add", "prod": "multiply", "multiply": "multiply",
              "amax": "maximum", "amin": "minimum"}  # fmt: skip


def second(kind: ElementType) -> Computation:
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


@aten("index_select.default")
def index_select(_out: Shape, x: Instruction, axis: int, index: Instruction) -> Instruction:
    """The elements of a dimension at some places."""
    if not x.shape.rank:
        return x
    axis = at(axis, x.shape.rank)
    front = [axis, *(k for k in range(x.shape.rank) if k != axis)]
    taken = take(permuted(x, front), [to_dims(index, (index.shape.size,))])
    return permuted(taken, [*range(1, axis + 1), 0, *range(axis + 1, x.shape.rank)])


def _along(index: Instruction, axis: int) -> list[Instruction]:
    """For each element of an index, its own place in all dimensions but one."""
    places = [counting(S64, index.shape.dims, k) for k in range(index.shape.rank)]
    places[axis] = index
    return places


def along_axis(x: Instruction, axis: int, index: Instruction) -> Instruction:
    """Elements whose place in one dimension is given; in the others it is their own."""
    return take(x, _along(index, axis))


@aten("gather.default")
def gather(_out: Shape, x: Instruction, axis: int, index: Instruction, **_: Any) -> Instruction:
    """Elements whose place in one dimension is given."""
    if not x.shape.rank:
        return broadcast(x, index.shape.dims)
    return along_axis(x, at(axis, x.shape.rank), index)


@aten(*("scatter.src", "scatter.value", "scatter_reduce.two", "scatter.reduce"))
@aten("scatter.value_reduce")
def scatter(
    out: Shape, x: Instruction, axis: int, index: Instruction, new: Any, reduce: str = "", *,
    include_self: bool = True,
) -> Instruction:  # fmt: skip
    """An array with elements replaced whose place in one dimension is given, or combined."""
    kind = out.element_type
    if not x.shape.rank:
        x, index, axis = to_dims(x, (1,)), to_dims(index, (index.shape.size,)), 0
        new = to_dims(new, index.shape.dims) if isinstance(new, Instruction) else new
    if isinstance(new, Instruction):
        new = converted(new, kind)
        if new.shape.dims != index.shape.dims:
            ranges = tuple(SliceDim(0, n) for n in index.shape.dims)
            new = make("slice", new, slice=ranges)
    else:
        new = to_shape(array(kind, index.shape.dims), new)
    places = _along(index, at(axis, x.shape.rank))
    return to_dims(combined(x, places, new, reduce, include_self=include_self), out.dims)


def combined(
    x: Instruction, places: Sequence[Instruction], new: Instruction, reduce: str, *,
    include_self: bool = True,
) -> Instruction:  # fmt: skip
    """An array with elements at some places replaced, or combined with new ones.

    Parameters
    ----------
    reduce : "" for replaced; a name of `REDUCTIONS`; or "mean".
    include_self : whether the array's own elements take part, too.
    """
    kind = x.shape.element_type
    if not reduce:
        return put(x, places, new, second(kind))
    if reduce == "mean":
        sums = combined(x, places, new, "sum", include_self=include_self)
        ones = splat(1, new.shape.with_type(S64))
        none = splat(int(include_self), x.shape.with_type(S64))
        counts = make("maximum", put(none, places, ones, binary("add", S64)), splat(1, none.shape))
        if kind.is_floating:
            return sums / to_type(counts, kind)
        return floor_divide(sums.shape, sums, to_type(counts, kind))
    if not include_self:
        # torch's sums begin with +0.
        neutral = MONOIDS[REDUCTIONS[reduce]].identity(kind) or 0
        first = splat(neutral, new.shape.with_type(kind))
        x = put(x, places, first, second(kind))
    return put(x, places, new, binary(REDUCTIONS[reduce], kind))


@aten("index_reduce.default")
def index_reduce(
    out: Shape, x: Instruction, axis: int, index: Instruction, new: Instruction, reduce: str, *,
    include_self: bool = True,
) -> Instruction:  # fmt: skip
    """An array whose slices at some places of one dimension are combined with others."""
    if not x.shape.rank:
        return scatter(out, x, 0, index, new, reduce, include_self=include_self)
    axis = at(axis, x.shape.rank)
    front = [axis, *(k for k in range(x.shape.rank) if k != axis)]
    back = [front.index(k) for k in range(x.shape.rank)]
    places = [to_dims(index, (index.shape.size,))]
    made = combined(
        *(permuted(x, front), places, permuted(converted(new, out.element_type), front), reduce),
        include_self=include_self,
    )
    return permuted(made, back)


@aten("put.default")
def put_flat(
    out: Shape, x: Instruction, index: Instruction, new: Instruction, accumulate: bool = False
) -> Instruction:
    """An array with elements replaced, or added, whose places in it row by row are given."""
    flat, count = to_dims(x, (x.shape.size,)), index.shape.size
    values = to_dims(converted(new, out.element_type), (count,))
    places = [to_dims(index, (count,))]
    return to_dims(combined(flat, places, values, "add" if accumulate else ""), out.dims)


@aten("masked_scatter.default")
def masked_scatter(out: Shape, x: Instruction, mask: Instruction, new: Instruction) -> Instruction:
    """An array whose elements where a mask holds are the next ones of others."""
    chosen = broadcast(mask, out.dims)
    if not new.shape.size or not out.size:
        return to_shape(out, x)
    flat = to_type(to_dims(chosen, (out.size,)), S64)
    place = running_sum(flat) - 1
    values = take(to_dims(converted(new, out.element_type), (new.shape.size,)), [place])
    return make("select", chosen, to_dims(values, out.dims), to_shape(out, x))


@aten("nonzero_static.default")
def nonzero_static(out: Shape, x: Instruction, *, size: int, fill_value: int = -1) -> Instruction:
    """The places of the first elements that are not zero, as rows; else a number."""
    if not out.size:
        return splat(0, out)
    flat = to_dims(converted(x, PRED), (x.shape.size,))
    place = running_sum(to_type(flat, S64)) - 1
    # A place outside is left out.
    row = make("select", flat, place, splat(size, place.shape))
    found = splat(fill_value, out)
    for axis in range(x.shape.rank):
        own = to_dims(counting(S64, x.shape.dims, axis), (x.shape.size,))
        column = splat(axis, row.shape)
        found = put(found, [row, column], own, second(S64))
    return found


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
    combine = binary("add", kind) if accumulate else second(kind)
    made = put(front, indexed.places, values, combine)
    return permuted(made, [indexed.order.index(k) for k in range(out.rank)])
