"""Brings dots into one form: batches of matrix products.

In that form the batch dimensions come first, in order, and after them each operand has one
contracting dimension and at most one that is free. Transposes bring the dimensions into the order
batch, free, contracting (on the right: batch, contracting, free), reshapes make each kind one.

    d = f32[8,6] dot(x, y), lhs_contracting_dims={0,1}, rhs_contracting_dims={0,1}

    a = f32[8,20] reshape(transpose(x))            of x: f32[4,5,8]
    b = f32[20,6] reshape(y)                       of y: f32[4,5,6]
    d = f32[8,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}

The sums have the same terms; but libraries may add them up in another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import permuted, size_of, to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


def is_canonical(instr: Instruction) -> bool:
    """Whether a dot has the canonical form already."""
    attrs = DotDims.of(instr)
    batch = tuple(range(len(attrs.lhs_batch_dims)))
    return (
        len(attrs.lhs_contracting_dims) == 1
        and attrs.lhs_batch_dims == batch
        and attrs.rhs_batch_dims == batch
        and all(operand.shape.rank <= len(batch) + 2 for operand in instr.operands)
    )


@expander("dot_decomposer", "dot", promise=ROUNDING, xla="xla/service/dot_decomposer.cc")
def canonical_dot(site: ExpansionSite) -> Instruction | None:
    """Replaces dots by dots of the canonical form."""
    instr = site.instr
    if is_canonical(instr):
        return None
    attrs, (lhs, rhs) = DotDims.of(instr), instr.operands
    batch = len(attrs.lhs_batch_dims)
    lhs_free = free_dims(lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    rhs_free = free_dims(rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)
    left = merged(lhs, [attrs.lhs_batch_dims, lhs_free, attrs.lhs_contracting_dims], 1)
    right = merged(rhs, [attrs.rhs_batch_dims, attrs.rhs_contracting_dims, rhs_free], 2)
    product = make(
        "dot",
        left,
        right,
        shape=instr.shape.with_dims((*left.shape.dims[:-1], *right.shape.dims[batch + 1 :])),
        lhs_batch_dims=tuple(range(batch)),
        rhs_batch_dims=tuple(range(batch)),
        lhs_contracting_dims=(left.shape.rank - 1,),
        rhs_contracting_dims=(batch,),
        operand_precision=attrs.operand_precision,
        algorithm=attrs.algorithm,
    )
    return to_dims(product, instr.shape.dims)


def free_dims(x: Instruction, *used: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions that are neither batch nor contracting."""
    return tuple(d for d in range(x.shape.rank) if not any(d in dims for dims in used))


def merged(x: Instruction, kinds: list[tuple[int, ...]], free: int) -> Instruction:
    """Dimensions by kind: the batch as it is, the others one each; no free one if there is none."""
    ordered = permuted(x, [d for dims in kinds for d in dims])
    sizes = [x.shape.dims[d] for d in kinds[0]]
    for k, dims in enumerate(kinds[1:], 1):
        if dims or k != free:
            sizes.append(size_of([x.shape.dims[d] for d in dims]))
    return to_dims(ordered, sizes)
