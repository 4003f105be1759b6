"""Rules whose left side is a reduction of one array, that of nothing or of arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING, ZERO_SIGN
from optimizer.dimensions import Dims, is_empty, picked, static, without
from optimizer.reducers import (
    folds_with,
    is_neutral,
    is_neutral_but_for_zeros,
    operation_of,
)
from optimizer.rewriting.guard import guard
from optimizer.rewriting.guards import is_integer, one_use
from optimizer.rewriting.pattern import (
    a,
    broadcast,
    c,
    dot,
    f,
    g,
    multiply,
    negate,
    p,
    q,
    reduce,
    reshape,
    x,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule
from optimizer.rules.reduce_of_moved import in_both_ways

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction


@guard
def are_ones(p: Dims, x: Instruction) -> bool:
    """The dimensions have size 1."""
    return all(x.shape.dims[d] == 1 for d in p)


@guard
def folds_alike(f: Computation, g: Computation, x: Instruction) -> bool:
    """Both computations are the same operation."""
    return operation_of(f, x) == operation_of(g, x)


@in_both_ways(
    reduce(reduce(x, y, dimensions=p, to_apply=f).as_(a), z, dimensions=q, to_apply=g),
    where=folds_alike(f, g, x) & is_neutral_but_for_zeros(y, f) & one_use(a) & static,
    xla="HandleReduce: reduce(reduce(A)) => reduce(A)",
)
def reduce_of_reduce(
    x: Instruction, z: Instruction, p: Dims, q: Dims, f: Computation
) -> Instruction:
    """Reduce all dimensions at once."""
    left = without(range(x.shape.rank), p)
    dims = tuple(sorted((*p, *(left[d] for d in q))))
    return reduce(x, z, dimensions=dims, to_apply=f)


@rule(
    reduce(multiply(x, c).as_(a), y, dimensions=p, to_apply=f),
    where=folds_with("add", f, x) & is_integer(x) & is_neutral(y, f) & one_use(a) & static,
    xla="HandleReduce: sum(A * Const) => sum(A) * Const",
)
def reduce_of_scaled(
    x: Instruction, c: Instruction, y: Instruction, p: Dims, f: Computation, root: Instruction
) -> Instruction | None:
    """Scale the sum once instead of each of its terms.

    Not of floats: where terms cancel, nothing is left of the sum but its rounding.
    """
    if c.opcode != "broadcast" or root.shape.size >= x.shape.size:
        return None
    total = reduce(x, y, dimensions=p, to_apply=f)
    return multiply(total, broadcast(c.operands[0], (), shape=total.shape))


@rule(
    reduce(dot(x, z).as_(a), y, dimensions=p, to_apply=f),
    promise=ROUNDING,
    where=folds_with("add", f, a) & is_neutral_but_for_zeros(y, f) & one_use(a) & static,
    xla="HandleReduce: reduce(dot(A, B)) => dot(A, B) where a batch dimension is reduced",
)
def reduce_of_dot(
    x: Instruction, z: Instruction, a: Instruction, y: Instruction, p: Dims, f: Computation
) -> Instruction | None:
    """Summing over a batch dimension is contracting it.

    Only so that a canonical dot stays one: the last batch dimension, if none is contracted yet.
    XLA takes others too, but for platforms that have no DotDecomposer.
    """
    dims = DotDims.of(a)
    batch = range(len(dims.lhs_batch_dims))
    summed = [d for d in p if d in batch]
    if not batch or summed != [batch[-1]] or dims.lhs_contracting_dims or dims.algorithm:
        return None
    new = dot(
        x,
        z,
        shape=a.shape.with_dims(without(a.shape.dims, summed)),
        lhs_batch_dims=without(dims.lhs_batch_dims, summed),
        rhs_batch_dims=without(dims.rhs_batch_dims, summed),
        lhs_contracting_dims=picked(dims.lhs_batch_dims, summed),
        rhs_contracting_dims=picked(dims.rhs_batch_dims, summed),
        operand_precision=dims.operand_precision,
    )
    left = without(range(a.shape.rank), summed)
    others = tuple(left.index(d) for d in p if d not in batch)
    return reduce(new, y, dimensions=others, to_apply=f) if others else new


# fmt: off
RULES = (
    Rule(reduce(x, y), broadcast(y, ()), where=is_empty(x) & static,
         xla="reduce of nothing => broadcast of the initial value"),
    Rule(reduce(x, y, dimensions=p, to_apply=f), reshape(x),
         where=are_ones(p, x) & is_neutral(y, f) & static,
         xla="reduce of dimensions of size 1 => reshape"),
    Rule(reduce(x, y, dimensions=p, to_apply=f), reshape(x), promise=ZERO_SIGN,
         where=are_ones(p, x) & is_neutral_but_for_zeros(y, f) & static,
         xla="reduce of dimensions of size 1 => reshape", name="sum of dimensions of size 1"),
    Rule(reduce(negate(x).as_(a), y, dimensions=p, to_apply=f),
         negate(reduce(x, y, dimensions=p, to_apply=f)), promise=ZERO_SIGN,
         where=folds_with("add", f, x) & is_neutral_but_for_zeros(y, f) & one_use(a) & static,
         xla="reduce(negate(A), add) => negate(reduce(A))", name="negate_of_sum"),
    *reduce_of_reduce,
    reduce_of_scaled,
    reduce_of_dot,
)
# fmt: on
