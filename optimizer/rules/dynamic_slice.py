"""Rules whose left side is a dynamic slice: one whose start comes at run time.

The start is clamped so that the slice lies in the operand: where the slice is as long as the
operand, it is 0 whatever is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.grouping import reshaped_groups
from hlo.types.values import SliceDim
from optimizer.dimensions import Dims, Operands, static
from optimizer.rewriting.guard import guard
from optimizer.rewriting.guards import is_integer, one_use, same_shape
from optimizer.rewriting.make import splat, value_of
from optimizer.rewriting.pattern import (
    Rest,
    a,
    b,
    broadcast,
    clamp,
    convert,
    dynamic_slice,
    dynamic_update_slice,
    iota,
    p,
    reshape,
    slice_,
    transpose,
    x,
    xs,
    y,
)
from optimizer.rewriting.rule import Rule, rule
from optimizer.rules.slice import constant_starts, slice_of_broadcast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction

ys = Rest("ys")


@guard
def one_start_each(instr: Instruction, starts: Operands) -> bool:
    """A scalar start for each dimension; not a vector of them, an older form."""
    return len(starts) == instr.shape.rank and all(not start.shape.dims for start in starts)


@guard
def same_starts(one: Operands, other: Operands) -> bool:
    """The very same starts."""
    return one == other


def slice_at(x: Instruction, starts: Sequence[Instruction], sizes: Dims) -> Instruction:
    """A new dynamic slice."""
    return dynamic_slice(x, *starts, dynamic_slice_sizes=sizes)


@rule(
    dynamic_slice(x, xs),
    where=one_start_each(x, xs) & static,
    xla="HandleDynamicSlice: dynamic-slice at a constant place => slice",
)
def dynamic_slice_at_constants(
    x: Instruction, xs: Operands, root: Instruction
) -> Instruction | None:
    """Clamp the start now."""
    if any(value_of(start) is None for start in xs):
        return None
    sizes = root.shape.dims
    starts = constant_starts(xs, x.shape.dims, sizes)
    return slice_(x, tuple(SliceDim(i, i + n) for i, n in zip(starts, sizes, strict=True)))


@rule(
    dynamic_slice(iota(p).as_(a), xs),
    where=is_integer(a) & one_start_each(a, xs) & static,
    xla="HandleDynamicSlice: dynamic-slice(iota, i) => i",
)
def dynamic_slice_of_iota(
    a: Instruction, p: int, xs: Operands, root: Instruction
) -> Instruction | None:
    """One number of a count is its index, clamped; other dimensions repeat it."""
    start, last = xs[p], a.shape.dims[p] - 1
    kinds = (start.shape.element_type, a.shape.element_type)
    if root.shape.dims[p] != 1 or any(last >= 1 << kind.bits - 1 for kind in kinds):
        return None
    index = clamp(splat(0, start.shape), start, splat(last, start.shape))
    number = index if kinds[0] is kinds[1] else convert(index, shape=root.shape.with_dims(()))
    return broadcast(number, (), shape=root.shape)


@rule(
    dynamic_slice(reshape(x).as_(a), xs),
    where=one_use(a) & one_start_each(a, xs) & static,
    xla=(
        "HandleDynamicSlice: dynamic-slice(reshape(A)) => reshape(dynamic-slice(A)), "
        "where the reshape puts ones in"
    ),
)
def dynamic_slice_of_reshape(
    x: Instruction, a: Instruction, xs: Operands, root: Instruction
) -> Instruction | None:
    """Slice before dimensions of size 1 are put in."""
    groups = reshaped_groups(x.shape.dims, a.shape.dims)
    if not x.shape.dims or not groups or not root.shape.size:
        return None
    if any(len(new) != 1 or len(old) > 1 for old, new in groups):
        return None
    dims = [new[0] for old, new in groups if old]
    part = slice_at(x, [xs[d] for d in dims], tuple(root.shape.dims[d] for d in dims))
    return reshape(part, shape=root.shape)


@rule(
    dynamic_slice(transpose(x, p).as_(a), xs),
    where=one_use(a) & one_start_each(a, xs) & static,
    xla="HandleDynamicSlice: dynamic-slice(transpose(A)) => transpose(dynamic-slice(A))",
)
def dynamic_slice_of_transpose(
    x: Instruction, p: Dims, xs: Operands, root: Instruction
) -> Instruction:
    """Move fewer elements."""
    sources = [p.index(d) for d in range(len(p))]
    part = slice_at(x, [xs[i] for i in sources], tuple(root.shape.dims[i] for i in sources))
    return transpose(part, p)


@rule(
    dynamic_slice(dynamic_slice(x, xs).as_(a), ys),
    where=one_start_each(x, xs) & one_start_each(a, ys) & static,
    xla="HandleDynamicSlice: dynamic-slice(dynamic-slice(A)) => dynamic-slice(A)",
)
def dynamic_slice_of_dynamic_slice(
    x: Instruction, a: Instruction, xs: Operands, ys: Operands, root: Instruction
) -> Instruction | None:
    """Where in each dimension only one of the two leaves something out, its start counts."""
    starts: list[Instruction] = []
    for d, size in enumerate(a.shape.dims):
        if root.shape.dims[d] == size:
            starts.append(xs[d])
        elif size == x.shape.dims[d]:
            starts.append(ys[d])
        else:
            return None
    same = len({start.shape.element_type for start in starts}) == 1
    return slice_at(x, starts, root.shape.dims) if same else None


# fmt: off
RULES = (
    Rule(dynamic_slice(x, xs).as_(b), x, where=same_shape(x, b) & static,
         xla="dynamic-slice of everything => A"),
    Rule(dynamic_slice(dynamic_update_slice(x, y, xs), ys).as_(b), y,
         where=same_starts(xs, ys) & same_shape(y, b) & static,
         xla="dynamic-slice(dynamic-update-slice(A, B, i), i) => B"),
    Rule(dynamic_slice(broadcast(x, p), xs), slice_of_broadcast.right, where=static,
         name="dynamic_slice_of_broadcast", doc=slice_of_broadcast.doc,
         xla="HandleDynamicSlice: dynamic-slice(broadcast) => broadcast"),
    dynamic_slice_of_iota,
    dynamic_slice_at_constants,
    dynamic_slice_of_dynamic_slice,
    dynamic_slice_of_reshape,
    dynamic_slice_of_transpose,
)
# fmt: on
