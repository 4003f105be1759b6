"""Rules whose left side is a slice: every stride-th element from start to limit.

A slice of something that moves elements itself is the same movement of a smaller slice, or of none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hlo.types.grouping import reshaped_groups
from hlo.types.values import SliceDim
from optimizer.analysis.update_chains import UpdateChains
from optimizer.dimensions import Dims, has_static_sizes, static
from optimizer.rewriting.guards import is_most_of, one_use, same_shape
from optimizer.rewriting.make import make, value_of
from optimizer.rewriting.pattern import (
    a,
    b,
    broadcast,
    concatenate,
    dynamic_update_slice,
    iota,
    p,
    pad,
    q,
    reshape,
    reverse,
    slice_,
    transpose,
    x,
    xs,
    y,
)
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.values import PaddingDim
    from optimizer.rewriting.make import Array

Ranges = tuple[SliceDim, ...]
Memo = dict[str, UpdateChains]


def whole(sizes: Dims) -> Ranges:
    """The slice of everything."""
    return tuple(SliceDim(0, n) for n in sizes)


@rule(
    slice_(slice_(x, p), q),
    where=static,
    xla="HandleSlice, ReplaceSliceOfSlice: slice(slice(A)) => slice(A)",
)
def slice_of_slice(x: Instruction, p: Ranges, q: Ranges, root: Instruction) -> Instruction:
    """Element i of the outer is element start + i * stride of the inner."""
    ranges: list[SliceDim] = []
    for inner, outer, count in zip(p, q, root.shape.dims, strict=True):
        start, stride = inner.start + outer.start * inner.stride, inner.stride * outer.stride
        # An empty slice may begin after the end of the inner one.
        empty = SliceDim(0, 0)
        ranges.append(SliceDim(start, start + (count - 1) * stride + 1, stride) if count else empty)
    return slice_(x, tuple(ranges))


@rule(
    slice_(concatenate(xs, dimensions=p), q),
    where=static,
    xla="HandleSlice: slice(concatenate(A, B)) => slice(A) where it lies in A",
)
def slice_of_concatenate(xs: tuple[Instruction, ...], p: Dims, q: Ranges) -> Instruction | None:
    """Slice the one operand in which all of the slice lies."""
    (along,) = p
    cut, begin = q[along], 0
    for piece in xs:
        end = begin + piece.shape.dims[along]
        if begin <= cut.start and cut.limit <= end:
            moved = SliceDim(cut.start - begin, cut.limit - begin, cut.stride)
            return slice_(piece, (*q[:along], moved, *q[along + 1 :]))
        begin = end
    return None


@rule(
    slice_(pad(x, y, p), q), where=static, xla="HandleSlice: slice(pad(A)) => slice(A) or broadcast"
)
def slice_of_pad(
    x: Instruction,
    y: Instruction,
    p: tuple[PaddingDim, ...],
    q: Ranges,
    root: Instruction,
) -> Instruction | None:
    """A slice that holds no padding is one of x; one of nothing else is the padding value."""
    ranges: list[SliceDim] = []
    for cut, ends, size in zip(q, p, x.shape.dims, strict=True):
        spread = size + max(size - 1, 0) * ends.interior
        moved = SliceDim(cut.start - ends.low, cut.limit - ends.low, cut.stride)
        if root.shape.size and (moved.limit <= 0 or moved.start >= spread):
            return broadcast(y, (), shape=root.shape)
        if ends.interior or moved.start < 0 or moved.limit > size:
            return None
        ranges.append(moved)
    return slice_(x, tuple(ranges))


@rule(
    slice_(reverse(x, p).as_(a), q),
    where=static & one_use(a),
    xla="TryToReorderSliceAndReverse: slice(reverse) => reverse",
)
def slice_of_reverse(x: Instruction, p: Dims, q: Ranges, root: Instruction) -> Instruction | None:
    """Flip fewer elements: those that the slice takes, counted from the other end."""
    ranges = list(q)
    for d in p:
        count, cut = root.shape.dims[d], q[d]
        if not count:
            return None
        last = x.shape.dims[d] - 1 - cut.start
        ranges[d] = SliceDim(last - (count - 1) * cut.stride, last + 1, cut.stride)
    return reverse(slice_(x, tuple(ranges)), p)


@rule(
    slice_(broadcast(x, p)),
    where=static,
    xla="HandleSlice: slice(broadcast(A)) => broadcast(slice(A))",
)
def slice_of_broadcast(x: Instruction, p: Dims, root: Instruction) -> Instruction | None:
    """Take fewer copies. Where x itself would be sliced, there is nothing to win."""
    if any(x.shape.dims[i] != root.shape.dims[d] for i, d in enumerate(p)):
        return None
    return broadcast(x, p, shape=root.shape)


@rule(slice_(iota(p), q), where=static, xla="HandleSlice: slice(iota) => iota where it starts at 0")
def slice_of_iota(p: int, q: Ranges, root: Instruction) -> Instruction | None:
    """A slice from 0 on of numbers that count up is an iota that counts less far."""
    cut = q[p]
    if cut.start or (cut.stride != 1 and root.shape.dims[p] > 1):
        return None
    return make("iota", shape=root.shape, iota_dimension=p)


@rule(
    slice_(reshape(x).as_(a), q),
    where=static & one_use(a),
    xla=(
        "TryToReorderSliceAndReshape: slice(reshape(A)) => reshape(slice(A)), where the "
        "reshape moves ones only"
    ),
)
def slice_of_reshape(
    x: Instruction, a: Instruction, q: Ranges, root: Instruction
) -> Instruction | None:
    """Slice before dimensions of size 1 are put in or taken out."""
    groups = reshaped_groups(x.shape.dims, a.shape.dims)
    if not root.shape.size or any(len(old) > 1 or len(new) > 1 for old, new in groups):
        return None
    ranges = list(whole(x.shape.dims))
    for old, new in groups:
        if old and new:
            ranges[old[0]] = q[new[0]]
    return reshape(slice_(x, tuple(ranges)), shape=root.shape)


@rule(
    slice_(transpose(x, p).as_(a), q),
    where=static & one_use(a),
    xla="HandleSlice: slice(transpose(A)) => transpose(slice(A))",
)
def slice_of_transpose(x: Instruction, p: Dims, q: Ranges) -> Instruction:
    """Move fewer elements."""
    ranges = list(q)
    for i, d in enumerate(p):
        ranges[d] = q[i]
    return transpose(slice_(x, tuple(ranges)), p)


@rule(
    slice_(dynamic_update_slice(x, y, xs).as_(a), q),
    where=static & (one_use(a) | ~is_most_of(y, x)),
    xla="HandleSlice: slice(dynamic-update-slice(A, B)) => slice of the one it lies in",
)
def slice_of_update(
    x: Instruction, y: Instruction, xs: tuple[Instruction, ...], q: Ranges, memo: Memo
) -> Instruction | None:
    """At a constant offset, a slice lies in the update, beside it, or in both.

    Beside it, the slice is moved past all updates that it lies beside, up to the one that matters.

    Others may use the updated array, too. If it is mostly the update, its elements are computed
    once, and a slice reads them there.
    """
    if any(value_of(start) is None for start in xs):
        return None
    starts = constant_starts(xs, x.shape.dims, y.shape.dims)
    ends = [start + n for start, n in zip(starts, y.shape.dims, strict=True)]
    cuts = list(zip(q, starts, ends, strict=True))
    if any(cut.limit <= start or end <= cut.start for cut, start, end in cuts):
        chains = memo.setdefault("updates", UpdateChains(_passed))
        return slice_(chains.source(x, [c.start for c in q], [c.limit for c in q]), q)
    if all(start <= cut.start and cut.limit <= end for cut, start, end in cuts):
        ranges = [SliceDim(c.start - s, c.limit - s, c.stride) for c, s, _ in cuts]
        return slice_(y, tuple(ranges))
    return None


def _passed(update: Instruction) -> tuple[list[int], list[int]] | None:
    """The starts and ends of an update at a constant place that `slice_of_update` moves past."""
    if update.opcode != "dynamic-update-slice" or not has_static_sizes(update):
        return None
    x, y, *xs = update.operands
    if 2 * y.shape.size > x.shape.size or any(value_of(start) is None for start in xs):
        return None
    starts = constant_starts(tuple(xs), x.shape.dims, y.shape.dims)
    return starts, [start + n for start, n in zip(starts, y.shape.dims, strict=True)]


def constant_starts(starts: tuple[Instruction, ...], sizes: Dims, taken: Dims) -> list[int]:
    """The clamped starts of a dynamic slice with constant starts: clamped into the operand."""
    numbers = [int(cast("Array", value_of(start))) for start in starts]
    return [max(0, min(i, n - m)) for i, n, m in zip(numbers, sizes, taken, strict=True)]


# fmt: off
RULES = (
    Rule(slice_(x).as_(b), x, where=same_shape(x, b) & static, xla="slice of everything => A"),
    slice_of_slice,
    slice_of_concatenate,
    slice_of_pad,
    slice_of_broadcast,
    slice_of_iota,
    slice_of_update,
    slice_of_reverse,
    slice_of_reshape,
    slice_of_transpose,
)
# fmt: on
