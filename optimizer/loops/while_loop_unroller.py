"""Unrolls loops: the body once for every iteration, or several iterations in one.

while (i < 3) { i, x = i + 1, x * x }        x1 = x * x; x2 = x1 * x1; x3 = x2 * x2
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.effects import has_effect, without_dead
from hlo.types.values import FrontendAttributes
from hlo.walk import rebuild
from optimizer.calls.clone import own_callees
from optimizer.loops.site import LoopSite, transformed
from optimizer.loops.state import chosen, elements_taken
from optimizer.loops.trip_count import trip_count
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.attributes.annotations import Annotations
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log
    from optimizer.loops.state import Loop

# A loop that was unrolled by a factor says so, so that it is not unrolled again.
MARK = "unroll_factor"


@register
@dataclass(frozen=True)
class WhileLoopUnroller:
    """Replaces loops of known trip counts by their iterations.

    Attributes
    ----------
    unroll_factor : how many iterations become one; -1 for all. What does not divide is done before.
    trip_count_threshold, instruction_count_threshold, expand_factor_threshold : loops of more
        iterations, bodies of more instructions, and loops that would become more stay.
    state_bytes_threshold : loops of less state stay too: what is saved is passes over the state.
    """

    name = "while_loop_unroller"
    xla = (
        "xla/service/while_loop_unroller.cc for all iterations, and for two "
        "xla/service/gpu/transforms/double_buffer_loop_unrolling.cc"
    )
    unroll_factor: int = -1
    trip_count_threshold: int = 64
    instruction_count_threshold: int = 800
    expand_factor_threshold: int = 10_000
    state_bytes_threshold: int = 0

    def run(self, module: Module, log: Log) -> Module:
        """The module with fewer, or longer, loops."""

        def unroll(site: LoopSite) -> Instruction | None:
            trips = None if has_effect(site.loop.instr) else trip_count(site.loop)
            if trips is None:
                return None
            if self.unroll_factor == -1:
                return fully(site, trips) if self.allows(site.loop, trips) else None
            if trips < 2 * self.unroll_factor or is_marked(site.loop.instr):
                return None
            return by_factor(site, trips, self.unroll_factor)

        return transformed(module, unroll, log)

    def allows(self, loop: Loop, trips: int) -> bool:
        """Whether a loop is small enough."""
        size = len(loop.body.instructions)
        return (
            loop.instr.shape.bytes >= self.state_bytes_threshold
            and trips <= self.trip_count_threshold
            and size <= self.instruction_count_threshold
            and trips * size <= self.expand_factor_threshold
        )


def fully(site: LoopSite, trips: int) -> Instruction:
    """All iterations of a loop, as a tuple of the last state."""
    values = [site.initial(i) for i in range(site.loop.size)]
    for _ in range(trips):
        values = iteration(site.loop.body, values, site)
    return state_of(site, values)


def by_factor(site: LoopSite, trips: int, factor: int) -> Instruction:
    """A loop of which each iteration is several of before; the remainder runs first."""
    loop = site.loop
    values = [site.initial(i) for i in range(loop.size)]
    for _ in range(trips % factor):
        values = iteration(loop.body, values, site)
    body, condition = site.own(loop.body), site.own(loop.condition)
    following = list(body.root.operands)
    for _ in range(factor - 1):
        following = iteration(body, following, site)
    root = body.root.with_(operands=tuple(following))
    return loop.instr.with_(
        operands=(state_of(site, values),),
        called=(condition, without_dead(rebuild(body, {body.root: root}))),
        annotations=marked(loop.instr, factor),
    )


def iteration(body: Computation, values: list[Instruction], site: LoopSite) -> list[Instruction]:
    """The elements of the state after one more iteration."""
    state, taken = body.parameters[0], elements_taken(body)
    became = {instr: values[i] for instr, i in taken.items()}
    for instr in body.instructions:
        if instr not in became and instr not in (state, body.root):
            became[instr] = instr.with_(
                name=site.names.unique(instr.name),
                operands=tuple([became[o] for o in instr.operands]),
                control_predecessors=tuple([became[p] for p in instr.control_predecessors]),
                called=own_callees(instr, site.names),
            )
    return [became[o] for o in body.root.operands]


def state_of(site: LoopSite, values: list[Instruction]) -> Instruction:
    """The elements of a loop's state as a tuple."""
    instr = site.loop.instr
    whole = site.named(make("tuple", *values))
    return whole.with_(annotations=chosen(instr, range(site.loop.size)))


def is_marked(instr: Instruction) -> bool:
    """Whether a loop was unrolled by a factor already."""
    attributes = instr.annotations.frontend_attributes
    return attributes is not None and attributes.get(MARK) is not None


def marked(instr: Instruction, factor: int) -> Annotations:
    """The annotations of a loop that is unrolled by a factor; its old trip count holds no more."""
    attributes = instr.annotations.frontend_attributes or FrontendAttributes()
    entries = (*attributes.entries, (MARK, f'"{factor}"'))
    return replace(
        instr.annotations,
        frontend_attributes=FrontendAttributes(entries),
        backend_config="",
    )
