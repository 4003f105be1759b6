"""Transformations that follow from how often a loop runs."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from hlo.attributes import Compare
from hlo.effects import has_effect, ordered, without_dead
from hlo.walk import rebuild
from optimizer.calls.clone import inlined
from optimizer.loops.state import element_of
from optimizer.loops.trip_count import SWAPPED, counter_of, number, trip_count
from optimizer.rewriting.make import constant

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.loops.site import LoopSite
    from optimizer.loops.trip_count import InductionVariable

COMPARES = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}


def never_runs(site: LoopSite) -> Instruction | None:
    """A loop of trip count 0 is its initial state.

    References
    ----------
    XLA, `TryRemoveWhileLoop` in `xla/service/while_loop_simplifier.cc`.
    """
    instr = site.loop.instr
    removable = not has_effect(instr) and trip_count(site.loop, max_iterations=1) == 0
    return instr.operands[0] if removable else None


def runs_once(site: LoopSite) -> Instruction | None:
    """A loop of trip count 1 is its body.

    References
    ----------
    XLA, `TryRemoveWhileLoop` in `xla/service/while_loop_simplifier.cc`.
    """
    instr = site.loop.instr
    if has_effect(instr) or trip_count(site.loop, max_iterations=1) != 1:
        return None
    return inlined(site.loop.body, instr.operands, site.names)


def trivial_compares(site: LoopSite) -> Instruction | None:
    """Decides comparisons of the counter with constants that come out alike in every iteration.

    References
    ----------
    XLA, `TrySimplifyTrivialCompare` in `xla/service/while_loop_simplifier.cc`.
    """
    loop, counter = site.loop, counter_of(site.loop)
    if counter is None or not counter.trips:
        return None
    state, tied = loop.body.parameters[0], ordered(loop.body)
    outcomes = [None if i in tied else always(i, state, counter) for i in loop.body.instructions]
    if all(outcome is None for outcome in outcomes):
        return None
    condition, body = map(site.own, loop.instr.called)
    plan = {
        instr: site.named(constant(np.array(outcome)))
        for instr, outcome in zip(body.instructions, outcomes, strict=True)
        if outcome is not None
    }
    return loop.instr.with_(called=(condition, without_dead(rebuild(body, plan))))


def always(instr: Instruction, state: Instruction, counter: InductionVariable) -> bool | None:
    """The value of a comparison of the counter, if it is the same in every iteration."""
    if instr.opcode != "compare":
        return None
    (left, right), direction = instr.operands, Compare.of(instr).direction
    if element_of(right, state) == counter.index:
        left, right, direction = right, left, SWAPPED[direction]
    limit = number(right)
    if element_of(left, state) != counter.index or limit is None:
        return None
    seen = range(counter.init, counter.value(counter.trips or 0), counter.step)
    holds = COMPARES[direction]
    first, last = holds(seen[0], limit), holds(seen[-1], limit)
    is_order = direction not in ("EQ", "NE")
    return first if first == last and (is_order or len(seen) == 1 or limit not in seen) else None
