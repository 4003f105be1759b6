"""Rules whose left side is a sort or a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import ParameterNumber
from optimizer.dimensions import Dims, Operands, static
from optimizer.rewriting.make import make, splat, value_of
from optimizer.rewriting.pattern import f, map_, p, sort, xs
from optimizer.rewriting.rule import rule

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction


@rule(sort(xs, dimensions=p), where=static, xla="HandleSort: sort of at most one element => A")
def sort_of_one(xs: Operands, p: Dims, root: Instruction) -> Instruction | None:
    """There is nothing to compare."""
    if xs[0].shape.dims[p[0]] > 1:
        return None
    return make("tuple", *xs) if root.shape.is_tuple else xs[0]


@rule(
    map_(xs, to_apply=f),
    where=static,
    xla="HandleMap: map of a trivial computation => A or a constant",
)
def map_of_trivial(xs: Operands, f: Computation, root: Instruction) -> Instruction | None:
    """A computation that yields a parameter, or always the same."""
    if f.root.opcode == "parameter":
        return xs[ParameterNumber.of(f.root).number]
    value = value_of(f.root)
    return None if value is None else splat(value, root.shape)


RULES = (sort_of_one, map_of_trivial)
