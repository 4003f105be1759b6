"""Rules whose left side is a collective, or a conditional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.attributes import Collective
from optimizer.rewriting.guards import is_pred
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import (
    a,
    all_gather,
    all_reduce,
    all_to_all,
    collective_broadcast,
    conditional,
    convert,
    one_of,
    reduce_scatter,
    x,
    xs,
    y,
    z,
)
from optimizer.rewriting.rule import rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.dimensions import Operands

COLLECTIVES = one_of(all_reduce, all_gather, all_to_all, collective_broadcast, reduce_scatter)


@rule(
    COLLECTIVES(xs).as_(a),
    xla="HandleAllReduce; all_reduce_simplifier.cc: collective of groups of one device => A",
)
def collective_of_one(xs: Operands, a: Instruction) -> Instruction | None:
    """A device that is alone in its group gets its own value back.

    With a channel but without global numbers, a group is one replica in all its partitions.
    """
    attrs: Any = Collective.of(a)
    groups = attrs.replica_groups.groups()
    if not groups or any(len(group) != 1 for group in groups):
        return None
    if attrs.channel_id is not None and not getattr(attrs, "use_global_device_ids", False):
        return None
    return make("tuple", *xs) if a.shape.is_tuple else xs[0]


@rule(
    conditional(convert(x), y, z).as_(a),
    where=is_pred(x),
    xla="HandleConditional: conditional(convert(pred)) => conditional(pred)",
)
def conditional_on_converted(
    x: Instruction, y: Instruction, z: Instruction, a: Instruction
) -> Instruction | None:
    """Branch 1 runs if the predicate is true, and branch 0 if not."""
    first, second = a.called
    return a.with_(operands=(x, z, y), called=(second, first))


RULES = (collective_of_one, conditional_on_converted)
