"""Rules whose left side flips dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.dimensions import Dims, static
from optimizer.rewriting.guards import one_use
from optimizer.rewriting.pattern import a, broadcast, p, q, reverse, transpose, x
from optimizer.rewriting.rule import rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule(reverse(reverse(x, p), q), xla="HandleReverse: reverse(reverse(A)) => A")
def reverse_of_reverse(x: Instruction, p: Dims, q: Dims) -> Instruction:
    """Flip the dimensions that are flipped once only."""
    flipped = tuple(sorted(set(p) ^ set(q)))
    return reverse(x, flipped) if flipped else x


@rule(reverse(x, p), where=static, xla="HandleReverse: reverse of dimensions of size 1 => A")
def reverse_of_ones(x: Instruction, p: Dims) -> Instruction | None:
    """Flipping one element changes nothing, and flipping none neither."""
    flipped = tuple(d for d in p if x.shape.dims[d] > 1)
    if flipped == p and p:
        return None
    return reverse(x, flipped) if flipped else x


@rule(
    reverse(broadcast(x, p).as_(a), q), xla="HandleReverse: reverse(broadcast(A)) => broadcast(A)"
)
def reverse_of_broadcast(a: Instruction, p: Dims, q: Dims) -> Instruction | None:
    """Flipping copies changes nothing; only dimensions of x are left to flip."""
    left = tuple(d for d in q if d in p)
    if left == q:
        return None
    return reverse(a, left) if left else a


@rule(
    reverse(transpose(x, p).as_(a), q),
    where=one_use(a) & static,
    xla="HandleReverse: reverse(transpose(A)) => transpose(reverse(A))",
)
def reverse_of_transpose(x: Instruction, p: Dims, q: Dims) -> Instruction:
    """Flip first, so that transposes meet each other."""
    return transpose(reverse(x, tuple(sorted(p[d] for d in q))), p)


RULES = (
    reverse_of_reverse,
    reverse_of_ones,
    reverse_of_broadcast,
    reverse_of_transpose,
)
