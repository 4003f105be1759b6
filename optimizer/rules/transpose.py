"""Rules whose left side is a transpose: result dimension i is operand dimension dimensions[i]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.dimensions import Dims, inverse, static
from optimizer.rewriting.guards import is_identity, one_use
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import (
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
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule(transpose(transpose(x, p), q), xla="HandleTranspose: transpose(transpose(A)) => transpose(A)")
def transpose_of_transpose(x: Instruction, p: Dims, q: Dims) -> Instruction:
    """Result dimension i is dimension q[i] of the inner result, and so p[q[i]] of x."""
    return transpose(x, tuple(p[i] for i in q))


@rule(transpose(broadcast(x, p), q), xla="HandleTranspose: transpose(broadcast(A)) => broadcast(A)")
def transpose_of_broadcast(x: Instruction, p: Dims, q: Dims, root: Instruction) -> Instruction:
    """Dimension i of x is dimension p[i] of the broadcast, and inverse(q)[p[i]] of the result."""
    return broadcast(x, tuple(inverse(q)[d] for d in p), shape=root.shape)


@rule(transpose(iota(p), q), xla="HandleTranspose: transpose(iota) => iota")
def transpose_of_iota(p: int, q: Dims, root: Instruction) -> Instruction:
    """The dimension p along which the iota counts is dimension q.index(p) of the result."""
    return make("iota", shape=root.shape, iota_dimension=q.index(p))


@rule(
    transpose(x, p),
    where=static,
    xla='HandleTranspose, "degenerate transpose": transpose of dimensions of size 1 => reshape',
)
def transpose_of_ones(x: Instruction, p: Dims, root: Instruction) -> Instruction | None:
    """If the dimensions longer than 1 stay in order, so do the elements."""
    moved = [d for d in p if x.shape.dims[d] != 1]
    return reshape(x, shape=root.shape) if moved == sorted(moved) else None


@rule(
    transpose(dot(x, y).as_(a), p).as_(b),
    promise=ROUNDING,
    where=one_use(a) & static,
    xla="HandleTranspose, TransposeIsDot: transpose(dot(A, B)) => dot(B, A)",
)
def transpose_of_dot(
    x: Instruction, y: Instruction, a: Instruction, b: Instruction, p: Dims
) -> Instruction | None:
    """A dot has dimensions of batch, lhs, rhs: to swap lhs and rhs is to swap the operands.

    XLA swaps them if nothing else is moved; we also if the last dimension then stays the last.
    """
    dims, swapped = DotDims.of(a), _swapped(a, p)
    if not swapped or dims.algorithm or len(set(dims.operand_precision)) > 1:
        return None
    rest = tuple(swapped.index(d) for d in p)
    moved = rest != tuple(range(len(p)))
    product = dot(
        y,
        x,
        shape=a.shape.with_dims(tuple(a.shape.dims[d] for d in swapped)) if moved else b.shape,
        lhs_batch_dims=dims.rhs_batch_dims,
        rhs_batch_dims=dims.lhs_batch_dims,
        lhs_contracting_dims=dims.rhs_contracting_dims,
        rhs_contracting_dims=dims.lhs_contracting_dims,
        operand_precision=dims.operand_precision,
    )
    return transpose(product, rest) if moved else product


def _swapped(a: Instruction, p: Dims) -> Dims:
    """The order of a dot's dimensions with swapped operands; () if swapping saves no transpose.

    It saves one if the transpose puts all free dimensions of lhs after those of rhs, and the last
    one of lhs at the end.
    """
    dims = DotDims.of(a)
    batch = len(dims.lhs_batch_dims)
    middle = a.operands[0].shape.rank - len(dims.lhs_contracting_dims)
    lhs, rhs = range(batch, middle), range(middle, len(p))
    if not lhs or not rhs or p[-1] != middle - 1:
        return ()
    rhs_first = max(map(p.index, rhs)) < min(map(p.index, lhs))
    return (*range(batch), *rhs, *lhs) if rhs_first else ()


@rule(
    transpose(reshape(dot(x, y).as_(a)).as_(b), p),
    where=one_use(a) & one_use(b) & static,
    xla="HandleTranspose, TransposeIsDot",
)
def transpose_of_reshaped_dot(
    a: Instruction, b: Instruction, p: Dims, root: Instruction
) -> Instruction | None:
    """A reshape that only inserts dimensions of size 1 does not keep a dot from being swapped."""
    sizes = b.shape.dims
    dims = [d for d, size in enumerate(sizes) if size != 1]
    if tuple(sizes[d] for d in dims) != a.shape.dims:
        return None
    order = tuple(dims.index(d) for d in p if sizes[d] != 1)
    if not _swapped(a, order):
        return None
    moved = transpose(a, order, shape=a.shape.with_dims(tuple(a.shape.dims[d] for d in order)))
    return reshape(moved, shape=root.shape)


# fmt: off
RULES = (
    Rule(transpose(x, p), x, where=is_identity(p), xla="transpose that moves nothing => A"),
    transpose_of_transpose,
    transpose_of_broadcast,
    transpose_of_iota,
    transpose_of_ones,
    transpose_of_dot,
    transpose_of_reshaped_dot,
)
# fmt: on
