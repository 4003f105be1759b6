"""Rules whose left side is a broadcast: dimension i of the operand becomes dimensions[i]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.grouping import reshaped_groups
from optimizer.dimensions import Dims, inverse, static
from optimizer.rewriting.guards import is_identity, same_shape
from optimizer.rewriting.make import constant, make, value_of
from optimizer.rewriting.pattern import a, broadcast, iota, p, q, reshape, transpose, x
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule(broadcast(broadcast(x, p), q), xla="HandleBroadcast: broadcast(broadcast(A)) => broadcast(A)")
def broadcast_of_broadcast(x: Instruction, p: Dims, q: Dims, root: Instruction) -> Instruction:
    """Dimension i of x becomes p[i] of the inner result, and that q[p[i]] of the outer."""
    return broadcast(x, tuple(q[i] for i in p), shape=root.shape)


@rule(broadcast(iota(p), q), xla="HandleBroadcast: broadcast(iota) => iota")
def broadcast_of_iota(p: int, q: Dims, root: Instruction) -> Instruction:
    """Count along where the dimension has gone."""
    return make("iota", shape=root.shape, iota_dimension=q[p])


@rule(
    broadcast(x, p),
    where=static,
    xla='HandleBroadcast, "A degenerate broadcast": broadcast that repeats nothing => reshape',
)
def broadcast_of_ones(x: Instruction, p: Dims, root: Instruction) -> Instruction | None:
    """A broadcast that adds dimensions of size 1 only is a reshape, if it keeps the order.

    A constant becomes a constant at once, so that other rules still see that it is one.
    """
    if list(p) != sorted(p) or not x.shape.size or x.shape.size != root.shape.size:
        return None
    value = value_of(x)
    if x.opcode == "constant" and value is not None:
        return constant(value.reshape(root.shape.dims))
    return reshape(x, shape=root.shape)


@rule(broadcast(x, p), where=static, xla="HandleBroadcast: broadcast of the same rank => transpose")
def broadcast_as_transpose(x: Instruction, p: Dims, root: Instruction) -> Instruction | None:
    """A broadcast may permute dimensions as well; where it adds none, it does only that."""
    return transpose(x, inverse(p)) if len(p) == root.shape.rank else None


@rule(
    broadcast(reshape(x).as_(a), p),
    where=static,
    xla="HandleBroadcast: broadcast(reshape(A)) => broadcast(A), ones put in",
)
def broadcast_of_reshape(
    x: Instruction, a: Instruction, p: Dims, root: Instruction
) -> Instruction | None:
    """Dimensions of size 1 that the reshape puts in may as well come from the broadcast."""
    groups = reshaped_groups(x.shape.dims, a.shape.dims)
    if not all(len(old) == len(new) == 1 for old, new in groups if old):
        return None
    dims = [new[0] for old, new in groups if old]
    return broadcast(x, tuple(p[d] for d in dims), shape=root.shape) if groups else None


# fmt: off
RULES = (
    Rule(broadcast(x, p).as_(a), x, where=same_shape(x, a) & is_identity(p),
         xla="broadcast to the same shape => A"),
    broadcast_of_broadcast,
    broadcast_of_iota,
    broadcast_as_transpose,
    broadcast_of_reshape,
    broadcast_of_ones,
)
# fmt: on
