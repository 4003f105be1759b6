"""Puts more elements into a loop's state: values that are computed before it and never change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.effects import without_dead
from hlo.types.shape import tuple_of
from hlo.types.sharding import Sharding
from hlo.walk import rebuild
from optimizer.loops.state import chosen
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.attributes.annotations import Annotations
    from hlo.instruction import Computation, Instruction
    from optimizer.loops.site import LoopSite

REPLICATED = Sharding("replicated")


def widened(site: LoopSite, outside: Mapping[Instruction, Instruction]) -> Instruction:
    """A loop that gets values from outside, as a tuple of the loop's former results.

    Parameters
    ----------
    outside : instructions of the body, and the same computed before the loop.
    """
    loop, instr = site.loop, site.loop.instr
    added = list(outside.values())
    values = [site.initial(i) for i in range(loop.size)]
    start = site.named(make("tuple", *values, *added))
    condition = more_state(site.own(loop.condition), added)
    body = with_more_state(site, outside)
    wide_loop = instr.with_(
        operands=(start.with_(annotations=extended(instr.operands[0], added)),),
        shape=start.shape,
        called=(condition, body),
        annotations=extended(instr, added),
    )
    whole = site.named(make("tuple", *[site.element(wide_loop, i) for i in range(loop.size)]))
    return whole.with_(annotations=chosen(instr, range(loop.size)))


def more_state(computation: Computation, added: Sequence[Instruction]) -> Computation:
    """A condition whose parameter has more elements."""
    state = computation.parameters[0]
    return rebuild(computation, {state: wider(state, added)})


def wider(state: Instruction, added: Sequence[Instruction]) -> Instruction:
    """A parameter with more elements."""
    shape = tuple_of(*state.shape.elements, *[instr.shape for instr in added])
    return state.with_(shape=shape, annotations=extended(state, added))


def with_more_state(site: LoopSite, outside: Mapping[Instruction, Instruction]) -> Computation:
    """The body with a wider parameter, some of its instructions taken from there."""
    size, added = site.loop.size, list(outside.values())
    body, twin = site.own_with_twins(site.loop.body)
    state, root = body.parameters[0], body.root
    new_state = wider(state, added)
    taken = [site.element(new_state, size + k) for k in range(len(added))]
    plan = {twin[old]: new for old, new in zip(outside, taken, strict=True)}
    plan[state] = new_state
    plan[root] = root.with_(
        operands=(*root.operands, *taken),
        shape=new_state.shape,
        annotations=extended(root, added),
    )
    return without_dead(rebuild(body, plan))


def extended(instr: Instruction, added: Sequence[Instruction]) -> Annotations:
    """The annotations of a tuple that gets more elements."""
    annotations = chosen(instr, range(len(instr.shape.elements)))
    sharding = annotations.sharding
    if sharding is None or sharding.kind != "tuple":
        return annotations
    more = [sharding for instr in added for sharding in shardings_of(instr)]
    return replace(annotations, sharding=replace(sharding, elements=(*sharding.elements, *more)))


def shardings_of(instr: Instruction) -> list[Sharding]:
    """The sharding of each array of an instruction's value."""
    sharding = instr.annotations.sharding or REPLICATED
    if sharding.kind == "tuple":
        return list(sharding.elements)
    return [sharding for _ in instr.shape.leaves()]
