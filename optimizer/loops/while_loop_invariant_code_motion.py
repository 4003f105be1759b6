"""Loop-invariant code motion: computes before a loop what is the same in each of its iterations.

body { s = (s32[], f32[4]) parameter(0)         e = f32[4] exponential(x)
       x = f32[4] get-tuple-element(s), 1       init = tuple(zero, x, e)
       e = f32[4] exponential(x)                body { ... e = get-tuple-element(s), index=2
       ROOT t = tuple(i + 1, x) }                      ROOT t = tuple(i + 1, x, e) }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.effects import has_effect, ordered
from hlo.opcode import COMPILE_TIME, VIEWS
from hlo.walk import called_first, users
from optimizer.loops.site import LoopSite, transformed
from optimizer.loops.state import elements_taken
from optimizer.loops.trip_count import trip_count
from optimizer.loops.widen import widened
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log

# These cost little, or can be fused into their users: they go only with others.
CHEAP = VIEWS - {"copy"} | COMPILE_TIME | {"tuple"}


@register
@dataclass(frozen=True)
class WhileLoopInvariantCodeMotion:
    """Hoists invariant instructions out of loop bodies.

    What is hoisted lives as long as the loop runs, and runs even if the loop does not; so a loop
    inside of the loop, which might never end, goes only where the outer one is known to run. In a
    schedule, a copy stays: each iteration needs one of its own to write to.

    Attributes
    ----------
    hoist_size_inflation_ratio : what makes more bytes than so many times those of its operands
        stays; 0 for no limit.
    """

    name = "while-loop-invariant-code-motion"
    xla = "xla/service/while_loop_invariant_code_motion.cc"
    hoist_size_inflation_ratio: float = 0.0

    def run(self, module: Module, log: Log) -> Module:
        """The module with less work in its loops."""

        def hoist(site: LoopSite) -> Instruction | None:
            invariant = invariants(site, self.hoist_size_inflation_ratio)
            worth = {i for i in invariant if i.opcode not in CHEAP} - invariant_elements(
                site
            ).keys()
            outside = copies(site, worth)
            return widened(site, outside) if outside else None

        return transformed(module, hoist, log)


def invariant_elements(site: LoopSite) -> dict[Instruction, int]:
    """The instructions of the body that take arrays from the state that never change."""
    return {
        instr: i
        for instr, i in elements_taken(site.loop.body).items()
        if site.loop.is_invariant(i) and instr.shape.is_array
    }


def invariants(site: LoopSite, ratio: float) -> dict[Instruction, None]:
    """The instructions of the body that may be computed before the loop, in order."""
    loop, known = site.loop, dict.fromkeys(invariant_elements(site))
    trips = trip_count(loop, max_iterations=1)
    has_domain = any(i.opcode == "domain" for i in loop.body.instructions)
    if not known or has_domain or (trips is not None and trips <= 1):
        return {}
    tied = ordered(loop.body)
    for instr in loop.body.instructions:
        movable = instr.row.pure and not has_effect(instr) and instr not in tied
        if not movable or instr.opcode in ("parameter", "after-all"):
            continue
        if site.is_scheduled and instr.opcode == "copy":
            continue
        if not all(o in known for o in instr.operands) or inflates(instr, ratio):
            continue
        if trips is not None or ends(instr):
            known[instr] = None
    return known


def inflates(instr: Instruction, ratio: float) -> bool:
    """Whether an instruction makes far more bytes than it gets."""
    operand_bytes = sum(o.shape.bytes for o in instr.operands)
    return bool(ratio) and instr.opcode != "constant" and instr.shape.bytes > ratio * operand_bytes


def ends(instr: Instruction) -> bool:
    """Whether an instruction surely ends: there is no loop in it."""
    inner = (i for computation in called_first(*instr.called) for i in computation.instructions)
    return all(i.opcode != "while" for i in (instr, *inner))


def copies(site: LoopSite, worth: set[Instruction]) -> dict[Instruction, Instruction]:
    """Copies before the loop of the instructions that others, that stay in it, use."""
    body, needed = site.loop.body, set(worth)
    for instr in reversed(body.instructions):
        if instr in needed:
            needed.update(instr.operands)
    became: dict[Instruction, Instruction] = {}
    elements = invariant_elements(site)
    for instr in body.instructions:
        if instr in needed and instr in elements:
            became[instr] = site.initial(elements[instr])
        elif instr in needed and instr.opcode != "parameter":
            operands = tuple([became[o] for o in instr.operands])
            name = site.names.unique(instr.name)
            became[instr] = instr.with_(name=name, operands=operands)
    users_of = users(body)
    return {i: became[i] for i in body.instructions if i in worth and set(users_of[i]) - worth}
