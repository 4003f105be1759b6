"""Rows of tables, alone and in bags, and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.types.element_type import S64
from hlo.types.shape import array
from hlo.types.values import SliceDim
from hlo_torch.operations.indexing import put, take
from hlo_torch.operations.table import aten, binary, broadcast, least
from optimizer.derivative.table import total
from optimizer.expanders.parts import counting, equal, spread, to_type
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape


@aten("embedding.default")
def embedding(_out: Shape, table: Instruction, index: Instruction, *_: Any) -> Instruction:
    """Rows of a table."""
    return take(table, [index])


@aten("embedding_dense_backward.default")
def embedding_backward(
    out: Shape, grad: Instruction, index: Instruction, rows: int, padding: int, by_count: bool
) -> Instruction:
    """Gradients added up by row; that of the padding row is zero."""
    index = to_type(index, S64)
    if by_count:
        grad = _by_count(grad, index, rows)
    if padding >= 0:
        # A place outside is left out.
        index = _without(padding, index, index, rows)
    return put(splat(0, out), [index], grad, binary("add", out.element_type))


_SUM, _MEAN, _MAX = 0, 1, 2


@aten("_embedding_bag.default", "_embedding_bag_forward_only.default")
def embedding_bag(
    _out: None, table: Instruction, index: Instruction, offsets: Instruction,
    _by_count: bool = False, mode: int = _SUM, _sparse: bool = False,
    weights: Instruction | None = None, include_last: bool = False, padding: int = -1,
) -> tuple[Instruction, ...]:  # fmt: skip
    """Sums or means of rows of a table, a bag for each offset; with the bags and their sizes."""
    count, kind = offsets.shape.dims[0] - include_last, table.shape.element_type
    bag = bags(index, offsets, count)
    rows = _weighted(take(table, [index]), weights)
    kept = _without(padding, index, bag, count)
    sums = put(
        splat(0, array(kind, (count, table.shape.dims[1]))), [kept], rows, binary("add", kind)
    )
    ones = splat(1, array(S64, index.shape.dims))
    sizes = put(splat(0, array(S64, (count,))), [kept], ones, binary("add", S64))
    if mode == _MAX:
        found, places = _greatest(rows, index, kept, sizes)
        return found, bag, sizes, places
    if mode == _MEAN:
        sums = sums / spread(_divisor(sizes, kind), sums.shape.dims, (0,))
    return sums, bag, sizes, offsets


def _greatest(
    rows: Instruction, index: Instruction, bag: Instruction, sizes: Instruction
) -> tuple[Instruction, Instruction]:
    """The greatest elements of each bag, 0 of an empty one; the rows that they come from."""
    kind, dims = rows.shape.element_type, (sizes.shape.dims[0], rows.shape.dims[1])
    low = broadcast(least(kind), dims)
    most = put(low, [bag], rows, binary("maximum", kind))
    is_most = make("compare", rows, take(most, [bag]), direction="EQ")
    # The first place of several; a place outside for what is not the greatest.
    place, none = counting(S64, rows.shape.dims, 0), splat(index.shape.size, array(S64, dims))
    place = make("select", is_most, place, splat(index.shape.size, place.shape))
    first = put(none, [bag], place, binary("minimum", S64))
    empty = spread(equal(sizes, 0), dims, (0,))
    row = make("select", empty, splat(0, first.shape), take(to_type(index, S64), [first]))
    return make("select", empty, splat(0, most.shape), most), to_type(row, index.shape.element_type)


def _by_count(grad: Instruction, index: Instruction, rows: int) -> Instruction:
    """Gradients divided by the number of times that their row was taken."""
    kind = grad.shape.element_type
    ones = splat(1, index.shape.with_type(kind))
    counts = put(splat(0, array(kind, (rows,))), [index], ones, binary("add", kind))
    return grad / spread(take(counts, [index]), grad.shape.dims, range(index.shape.rank))


def bags(index: Instruction, offsets: Instruction, count: int) -> Instruction:
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
    greatest: Instruction, rows: int, by_count: bool, mode: int, weights: Instruction | None,
    padding: int = -1,
) -> Instruction:  # fmt: skip
    """Gradients of bags, added up by row."""
    kind = out.element_type
    if mode == _MAX:
        columns = counting(S64, grad.shape.dims, 1)
        empty = spread(equal(sizes, 0), grad.shape.dims, (0,))
        grad = make("select", empty, splat(0, grad.shape), grad)
        return put(splat(0, out), [greatest, columns], grad, binary("add", kind))
    if mode == _MEAN:
        grad = grad / spread(_divisor(sizes, kind), grad.shape.dims, (0,))
    values = _weighted(take(grad, [bag]), weights)
    if by_count:
        values = _by_count(values, to_type(index, S64), rows)
    kept = _without(padding, index, to_type(index, S64), rows)
    return put(splat(0, out), [kept], values, binary("add", kind))


@aten("_embedding_bag_backward.default")
def embedding_bag_backward_from_offsets(
    out: Shape, grad: Instruction, index: Instruction, offsets: Instruction, _bag: Instruction,
    *rest: Any,
) -> Instruction:  # fmt: skip
    """Gradients of bags, added up by row; torch leaves the bags out for sums."""
    bag = bags(index, offsets, grad.shape.dims[0])
    sizes, greatest, rows, by_count, mode, _sparse, *more = rest
    return embedding_bag_backward(
        out, grad, index, bag, sizes, greatest, rows, by_count, mode, *more
    )
