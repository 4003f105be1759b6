"""Rules whose left side is a transpose: result dimension i is operand dimension dimensions[i]."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from interpreter.compare import ROUNDING
from optimizer.dimensions import Dims, inverse, static
from optimizer.guards import is_identity, one_use
from optimizer.make import make
from optimizer.pattern import (
    a,
    b,
    broadcast,
    dot,
    iota,
    p,
    q,
    reshape,
    transpose,
    x,
    y,
)
from optimizer.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.attributes import DotDims
    from hlo.instruction import Instruction


@rule(transpose(transpose(x, p), q), xla="transpose(transpose(A)) => transpose(A)")
def transpose_of_transpose(x: Instruction, p: Dims, q: Dims) -> Instruction:
    """Result dimension i is dimension q[i] of the inner result, and so p[q[i]] of x.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleTranspose`.
    """
    return transpose(x, tuple(p[i] for i in q))


@rule(transpose(broadcast(x, p), q), xla="transpose(broadcast(A)) => broadcast(A)")
def transpose_of_broadcast(x: Instruction, p: Dims, q: Dims, root: Instruction) -> Instruction:
    """Dimension i of x becomes p[i] of the broadcast, which stands at the place of p[i] in q.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleTranspose`.
    """
    return broadcast(x, tuple(inverse(q)[d] for d in p), shape=root.shape)


@rule(transpose(iota(p), q), xla="transpose(iota) => iota")
def transpose_of_iota(p: int, q: Dims, root: Instruction) -> Instruction:
    """Count along where the dimension has gone.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleTranspose`.
    """
    return make("iota", shape=root.shape, iota_dimension=q.index(p))


@rule(transpose(x, p), where=static, xla="transpose of dimensions of size 1 => reshape")
def transpose_of_ones(x: Instruction, p: Dims, root: Instruction) -> Instruction | None:
    """Where the dimensions longer than 1 stay in order, the elements do too.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleTranspose`: "degenerate transpose".
    """
    moved = [d for d in p if x.shape.dims[d] != 1]
    return reshape(x, shape=root.shape) if moved == sorted(moved) else None


@rule(
    transpose(dot(x, y).as_(a), p).as_(b),
    promise=ROUNDING,
    where=one_use(a) & static,
    xla="transpose(dot(A, B)) => dot(B, A)",
)
def transpose_of_dot(
    x: Instruction, y: Instruction, a: Instruction, b: Instruction, p: Dims
) -> Instruction | None:
    """The result of a dot is batch, lhs, rhs: swapping lhs and rhs is swapping the operands.

    References
    ----------
    XLA, `AlgebraicSimplifierVisitor::HandleTranspose`: `TransposeIsDot`.
    """
    dims = cast("DotDims", a.attrs)
    if dims.algorithm or len(set(dims.operand_precision)) > 1:
        return None
    batch = len(dims.lhs_batch_dims)
    free = x.shape.rank - batch - len(dims.lhs_contracting_dims)
    kept, rank = tuple(range(batch)), len(p)
    if p != (*kept, *range(batch + free, rank), *range(batch, batch + free)):
        return None
    return dot(
        y,
        x,
        shape=b.shape,
        lhs_batch_dims=dims.rhs_batch_dims,
        rhs_batch_dims=dims.lhs_batch_dims,
        lhs_contracting_dims=dims.rhs_contracting_dims,
        rhs_contracting_dims=dims.lhs_contracting_dims,
        operand_precision=dims.operand_precision,
    )


# fmt: off
RULES = (
    Rule(transpose(x, p), x, where=is_identity(p), xla="transpose that moves nothing => A"),
    transpose_of_transpose,
    transpose_of_broadcast,
    transpose_of_iota,
    transpose_of_ones,
    transpose_of_dot,
)
# fmt: on
