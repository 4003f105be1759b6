"""Rules whose left side moves elements: reshape, transpose, broadcast, reverse, slice, copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.guards import is_identity, is_static, same_shape
from optimizer.pattern import (
    a,
    broadcast,
    concatenate,
    p,
    q,
    reshape,
    reverse,
    slice_,
    transpose,
    x,
)
from optimizer.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction

Dims = tuple[int, ...]


@rule(transpose(transpose(x, p), q), xla="transpose(transpose(A)) => transpose(A)")
def transpose_of_transpose(x: Instruction, p: Dims, q: Dims) -> Instruction:
    """Result dimension i is dimension q[i] of the inner result, and so p[q[i]] of x.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleTranspose`.
    """
    return transpose(x, tuple(p[i] for i in q))


@rule(broadcast(broadcast(x, p), q), xla="broadcast(broadcast(A)) => broadcast(A)")
def broadcast_of_broadcast(x: Instruction, p: Dims, q: Dims, root: Instruction) -> Instruction:
    """Dimension i of x becomes p[i] of the inner result, and that q[p[i]] of the outer.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleBroadcast`.
    """
    return broadcast(x, tuple(q[i] for i in p), shape=root.shape)


@rule(reverse(reverse(x, p), q), xla="reverse(reverse(A)) => A")
def reverse_of_reverse(x: Instruction, p: Dims, q: Dims) -> Instruction:
    """Flip what is flipped once only.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleReverse`.
    """
    flipped = tuple(sorted(set(p) ^ set(q)))
    return reverse(x, flipped) if flipped else x


# fmt: off
RULES = (
    Rule(transpose(x, p), x, where=is_identity(p), xla="transpose that moves nothing => A"),
    transpose_of_transpose,
    Rule(reshape(x).as_(a), x, where=same_shape(x, a), xla="reshape to the same shape => A"),
    Rule(reshape(reshape(x)).as_(a), reshape(x), where=is_static(a) & is_static(x),
         xla="reshape(reshape(A)) => reshape(A)"),
    Rule(broadcast(x).as_(a), x, where=same_shape(x, a), xla="broadcast to the same shape => A"),
    broadcast_of_broadcast,
    reverse_of_reverse,
    Rule(slice_(x).as_(a), x, where=same_shape(x, a), xla="slice of everything => A"),
    Rule(concatenate(x), x, xla="concatenate of one => A"),
)
# fmt: on
