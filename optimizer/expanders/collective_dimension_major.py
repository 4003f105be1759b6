"""Lets the pieces of collectives lie in one stretch of memory, as libraries exchange them.

y = f32[a,n*b] all-gather(x: f32[a,b]), dimensions={1}
=>  f32[n,a,b] all-gather(f32[1,a,b] reshape(x)), dimensions={0}, transposed and reshaped
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import AllGather, AllToAll, ReduceScatter
from hlo.types.shape import tuple_of
from optimizer.expanders.op_expander import ExpansionSite, element, expander
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@expander(
    "collective-dimension-major",
    *("all-gather", "all-to-all", "reduce-scatter"),
    xla="xla/service/gpu/transforms/layout_assignment.cc, MoveDimToMajor",
)
def pieces_first(site: ExpansionSite) -> Instruction | None:
    """Replaces a collective along an inner dimension by one along the first."""
    instr, attrs = site.instr, site.instr.attrs
    assert isinstance(attrs, AllGather | AllToAll | ReduceScatter)
    along = attrs.dimensions[0] if attrs.dimensions else 0
    results = [shape for _, shape in instr.shape.leaves()]
    count = _members(attrs, instr.operands[0].shape, results[0], along)
    if not count or all(prod(o.shape.dims[:along]) == 1 for o in instr.operands):
        return None
    parts = [_with_pieces(o, along, count, attrs) for o in instr.operands]
    factor = {AllGather: count, AllToAll: 1, ReduceScatter: 1 / count}[type(attrs)]
    shapes = [g.shape.with_dims((int(g.shape.dims[0] * factor), *g.shape.dims[1:])) for g in parts]
    shape = tuple_of(*shapes) if instr.shape.is_tuple else shapes[0]
    new = instr.with_(
        operands=tuple(parts),
        attrs=replace(attrs, dimensions=(0,)),
        shape=shape,
        control_predecessors=(),
    )
    whole = [element(new, n) for n in range(len(parts))] if instr.shape.is_tuple else [new]
    back = [_joined(w, along, result) for w, result in zip(whole, results, strict=True)]
    return make("tuple", *back) if instr.shape.is_tuple else back[0]


def _with_pieces(
    x: Instruction, along: int, count: int, attrs: AllGather | AllToAll | ReduceScatter
) -> Instruction:
    """An array with a first dimension for the pieces: of all members, or of one."""
    dims = x.shape.dims
    if isinstance(attrs, AllGather):
        return make("reshape", x, shape=x.shape.with_dims((1, *dims)))
    pieces = (*dims[:along], count, dims[along] // count, *dims[along + 1 :])
    cut = make("reshape", x, shape=x.shape.with_dims(pieces))
    order = (along, *(d for d in range(len(pieces)) if d != along))
    return make("transpose", cut, dimensions=order)


def _joined(x: Instruction, along: int, shape: Shape) -> Instruction:
    """An array whose pieces, along the first dimension, are joined along another one."""
    order = [*range(1, x.shape.rank)]
    order.insert(along, 0)
    return make("reshape", make("transpose", x, dimensions=tuple(order)), shape=shape)


def _members(
    attrs: AllGather | AllToAll | ReduceScatter, operand: Shape, result: Shape, along: int
) -> int:
    """The members of each group; 0 where the instruction does not tell."""
    if 0 in operand.dims or not attrs.dimensions:
        return 0
    if isinstance(attrs, AllToAll):
        sizes = {len(group) for group in attrs.replica_groups.groups()}
        return sizes.pop() if len(sizes) == 1 else 0
    one, other = operand.dims[along], result.dims[along]
    return max(one, other) // min(one, other)
