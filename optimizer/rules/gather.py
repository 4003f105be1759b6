"""Rules whose left side is a gather or a scatter."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import Gather
from hlo.types.values import SliceDim
from optimizer.dimensions import is_empty, static, without
from optimizer.rewriting.make import value_of
from optimizer.rewriting.pattern import a, broadcast, gather, reshape, scatter, slice_, x, y, z
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule(
    gather(x, y).as_(a),
    where=static,
    xla="HandleGather: gather of slices as large as A => broadcast(A)",
)
def gather_of_whole(x: Instruction, a: Instruction) -> Instruction | None:
    """Where each slice is all of the operand, clamping leaves it no other offset than 0."""
    attrs = Gather.of(a)
    if attrs.slice_sizes != x.shape.dims or attrs.operand_batching_dims:
        return None
    dims = without(x.shape.dims, attrs.collapsed_slice_dims)
    if prod(dims) != x.shape.size:
        # Slices of size 0 may be collapsed too.
        return None
    smaller = reshape(x, shape=x.shape.with_dims(dims)) if attrs.collapsed_slice_dims else x
    return broadcast(smaller, attrs.offset_dims, shape=a.shape)


@rule(
    gather(broadcast(x, ()), y),
    where=static,
    xla="HandleGather: gather(broadcast(A)) => broadcast(A)",
)
def gather_of_broadcast(x: Instruction, root: Instruction) -> Instruction:
    """Copies of one number are the same wherever they are taken from."""
    return broadcast(x, (), shape=root.shape)


@rule(gather(x, y).as_(a), where=static, xla="HandleGather: gather at one constant place => slice")
def gather_at_constant(x: Instruction, y: Instruction, a: Instruction) -> Instruction | None:
    """One slice, whose offset is known: clamp it now."""
    attrs, known = Gather.of(a), value_of(y)
    # Where starts have no components, any number of them may be in an empty array.
    if known is None or y.shape.size != len(attrs.start_index_map):
        return None
    if not a.shape.size or a.shape.size != prod(attrs.slice_sizes) or attrs.operand_batching_dims:
        return None
    starts = [0] * x.shape.rank
    for i, d in enumerate(attrs.start_index_map):
        # The value of a splat is a scalar.
        start = int(known.flat[i if known.size > 1 else 0])
        starts[d] = max(0, min(start, x.shape.dims[d] - attrs.slice_sizes[d]))
    ranges = [SliceDim(i, i + n) for i, n in zip(starts, attrs.slice_sizes, strict=True)]
    return reshape(slice_(x, tuple(ranges)), shape=a.shape)


# fmt: off
RULES = (
    gather_of_broadcast,
    gather_of_whole,
    gather_at_constant,
    Rule(scatter(x, y, z), x, where=is_empty(z) & static, xla="scatter without updates => A"),
)
# fmt: on
