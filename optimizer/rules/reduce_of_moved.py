"""Rules whose left side is a reduce of moved elements: it can as well be reduced before.

Another order of the same additions rounds differently. So a rule that changes the order comes in
two: one for what is exact in any order (integers, maximum, and, ...), and one that rounds.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo.monoid import MONOIDS
from hlo.types.grouping import reshaped_groups
from interpreter.numbers.compare import BITS, ROUNDING
from optimizer.dimensions import Dims, Operands, static, without
from optimizer.reducers import (
    in_any_order,
    is_known,
    is_neutral_but_for_zeros,
    operation_of,
)
from optimizer.rewriting.guard import guard
from optimizer.rewriting.guards import one_use
from optimizer.rewriting.make import make, splat
from optimizer.rewriting.pattern import (
    a,
    broadcast,
    c,
    concatenate,
    f,
    multiply,
    p,
    pad,
    q,
    reduce,
    reshape,
    reverse,
    transpose,
    x,
    xs,
    y,
)
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation, Instruction
    from hlo.types.values import PaddingDim
    from optimizer.rewriting.guard import Guard
    from optimizer.rewriting.pattern import Application


def in_both_ways(
    left: Application, *, where: Guard, xla: str
) -> Callable[[Callable[..., Instruction | None]], tuple[Rule, Rule]]:
    """Two rules of one function: where any order is exact, and where it rounds.

    Parameters
    ----------
    left : x is what is reduced, in the end, with the computation f.
    """

    def decorate(function: Callable[..., Instruction | None]) -> tuple[Rule, Rule]:
        exact = rule(left, promise=BITS, where=in_any_order(f, x) & where, xla=xla)(function)
        rounds = Rule(
            left,
            function,
            promise=ROUNDING,
            where=is_known(f, x) & ~in_any_order(f, x) & where,
            xla=xla,
            name=f"{function.__name__}_with_rounding",
            doc=function.__doc__ or "",
        )
        return exact, rounds

    return decorate


@in_both_ways(
    reduce(transpose(x, q), y, dimensions=p, to_apply=f),
    where=static,
    xla="HandleReduce: reduce(transpose(A)) => reduce(A)",
)
def reduce_of_transpose(
    x: Instruction, y: Instruction, p: Dims, q: Dims, f: Computation
) -> Instruction | None:
    """Reduce the dimensions before they move, if those that are left keep their order."""
    dims = without(q, p)
    if list(dims) != sorted(dims):
        return None
    return reduce(x, y, dimensions=tuple(sorted(q[d] for d in p)), to_apply=f)


@rule(
    reduce(reshape(x).as_(a), y, dimensions=p, to_apply=f),
    where=static,
    xla=("HandleReduce: reduce(reshape(A)) => reduce(A), where it joins or splits what is reduced"),
)
def reduce_of_reshape(
    x: Instruction, a: Instruction, y: Instruction, p: Dims, f: Computation
) -> Instruction | None:
    """Each group of dimensions that the reshape turns into others is reduced, or left as it is.

    The elements of each sum stay the same, in the same order.
    """
    groups = reshaped_groups(x.shape.dims, a.shape.dims)
    if not groups and x.shape.rank + a.shape.rank:
        return None
    folded: list[int] = []
    for old, new in groups:
        if all(d in p for d in new):
            folded += old
        elif len(old) != 1 or len(new) != 1:
            return None
    return reduce(x, y, dimensions=tuple(folded), to_apply=f)


@in_both_ways(
    reduce(reverse(x, q), y, dimensions=p, to_apply=f),
    where=static,
    xla="HandleReduce: reduce(reverse(A)) => reduce(A)",
)
def reduce_of_reverse(
    x: Instruction, y: Instruction, p: Dims, q: Dims, f: Computation
) -> Instruction | None:
    """Flip only the dimensions that are left afterwards."""
    left = tuple(d for d in q if d not in p)
    if left == q:
        return None
    return reduce(reverse(x, left) if left else x, y, dimensions=p, to_apply=f)


@in_both_ways(
    reduce(broadcast(x, q).as_(a), y, dimensions=p, to_apply=f),
    where=is_neutral_but_for_zeros(y, f) & static,
    xla="HandleReduce: reduce(broadcast(A), add) => A * n; with maximum, minimum, and, or => A",
)
def reduce_of_broadcast(
    x: Instruction,
    a: Instruction,
    y: Instruction,
    p: Dims,
    q: Dims,
    f: Computation,
    root: Instruction,
) -> Instruction | None:
    """Adding n copies is multiplying by n; to a maximum, copies make no difference."""
    copied = [d for d in p if d not in q]
    count, opcode = prod(a.shape.dims[d] for d in copied), operation_of(f, x)
    if not copied or not a.shape.size or (opcode == "add" and not _is_exact(count, x)):
        return None
    if opcode != "add" and not MONOIDS[opcode].idempotent:
        return None
    folded = tuple(i for i, d in enumerate(q) if d in p)
    inner = reduce(x, y, dimensions=folded, to_apply=f) if folded else x
    if opcode == "add":
        inner = multiply(inner, splat(count, inner.shape))
    remaining = without(range(a.shape.rank), p)
    dims = tuple(remaining.index(d) for d in q if d not in p)
    return broadcast(inner, dims, shape=root.shape)


def _is_exact(count: int, x: Instruction) -> bool:
    """Whether a factor is a number of the type, or may wrap around as the sum does."""
    dtype = x.shape.element_type.dtype
    return x.shape.element_type.is_integer or bool(np.asarray(count).astype(dtype) == count)


@in_both_ways(
    reduce(concatenate(xs, dimensions=q).as_(x), y, dimensions=p, to_apply=f),
    where=is_neutral_but_for_zeros(y, f) & one_use(x) & static,
    xla="HandleReduce: reduce(concatenate(A, B), add) => reduce(A) + reduce(B)",
)
def reduce_of_concatenate(
    xs: Operands, y: Instruction, p: Dims, q: Dims, f: Computation
) -> Instruction | None:
    """Reduce the pieces, and combine their results."""
    if q[0] not in p or len(xs) == 1:
        return None
    total, *others = [reduce(piece, y, dimensions=p, to_apply=f) for piece in xs]
    for other in others:
        total = make(f.root.opcode, total, other)
    return total


@guard
def grows(q: tuple[PaddingDim, ...], p: Dims) -> bool:
    """Only reduced dimensions are padded, and none is cropped."""
    untouched = all(e.low == e.high == e.interior == 0 for d, e in enumerate(q) if d not in p)
    return untouched and all(min(e.low, e.high) >= 0 for e in q)


@in_both_ways(
    reduce(pad(x, c, q), y, dimensions=p, to_apply=f),
    where=is_neutral_but_for_zeros(c, f) & grows(q, p) & static,
    xla="HandleReduce: reduce(pad(A, 0), add) => reduce(A)",
)
def reduce_of_pad(x: Instruction, y: Instruction, p: Dims, f: Computation) -> Instruction:
    """Padding that the operation leaves out of account need not be there."""
    return reduce(x, y, dimensions=p, to_apply=f)


# fmt: off
RULES = (
    *reduce_of_transpose,
    reduce_of_reshape,
    *reduce_of_reverse,
    *reduce_of_broadcast,
    *reduce_of_concatenate,
    *reduce_of_pad,
)
# fmt: on
