"""Drops batch dimensions of size 1 from dots.

dot(f32[1,m,k] x, f32[1,k,n] y)   =>   reshape(dot(reshape(x), reshape(y)))
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import DotDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_dims

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "batch-dot-simplification",
    "dot",
    promise=ROUNDING,
    xla="xla/service/batch_dot_simplification.cc",
)
def drop_degenerate_batch(site: ExpansionSite) -> Instruction | None:
    """Removes degenerate batch dimensions of dots."""
    instr = site.instr
    attrs, (lhs, rhs) = DotDims.of(instr), instr.operands
    pairs = list(zip(attrs.lhs_batch_dims, attrs.rhs_batch_dims, strict=True))
    gone = [(i, j) for i, j in pairs if lhs.shape.dims[i] == 1]
    if not gone:
        return None
    left, right = {i for i, _ in gone}, {j for _, j in gone}
    dims = replace(
        attrs,
        lhs_batch_dims=renumbered(attrs.lhs_batch_dims, left),
        rhs_batch_dims=renumbered(attrs.rhs_batch_dims, right),
        lhs_contracting_dims=renumbered(attrs.lhs_contracting_dims, left),
        rhs_contracting_dims=renumbered(attrs.rhs_contracting_dims, right),
    )
    dropped = {k for k, pair in enumerate(pairs) if pair in gone}
    remaining_dims = [n for d, n in enumerate(instr.shape.dims) if d not in dropped]
    small = instr.with_(
        operands=(without(lhs, left), without(rhs, right)),
        attrs=dims,
        shape=instr.shape.with_dims(tuple(remaining_dims)),
    )
    return to_dims(small, instr.shape.dims)


def renumbered(dims: tuple[int, ...], gone: set[int]) -> tuple[int, ...]:
    """The numbers that dimensions have when some are gone."""
    return tuple(d - sum(g < d for g in gone) for d in dims if d not in gone)


def without(x: Instruction, gone: set[int]) -> Instruction:
    """An array without some dimensions of size 1."""
    return to_dims(x, [n for d, n in enumerate(x.shape.dims) if d not in gone])
