"""The site of a loop: who uses it, and how to make new instructions around it.

A transformation of loops is a function of a site: it gives what takes the loop's place, or None if
it does not apply. `transformed` tries one on every loop of a module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hlo.effects import ordered, without_dead
from hlo.support.memo import remembered
from hlo.walk import names_of, users_of
from optimizer.calls.site import CallSite, shared_computations
from optimizer.loops.state import element_of, elements_used, loop_of
from optimizer.rewriting.make import make
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log
    from optimizer.loops.state import Loop

Transformation = Callable[["LoopSite"], "Instruction | None"]


@dataclass(frozen=True)
class LoopSite(CallSite):
    """A loop and its surroundings.

    Attributes
    ----------
    used : the elements of its state that are used after it.
    is_scheduled : its module is, so that copies are where they are needed.
    """

    loop: Loop
    used: set[int]
    is_scheduled: bool = False

    def initial(self, i: int) -> Instruction:
        """The initial value of an element of the state."""
        return self.loop.initial(i) or self.element(self.loop.instr.operands[0], i)

    def element(self, whole: Instruction, i: int) -> Instruction:
        """An element of a tuple that is here."""
        return self.named(make("get-tuple-element", whole, index=i))


def transformed(module: Module, transformation: Transformation, log: Log) -> Module:
    """A module with a transformation done to each of its loops that it applies to.

    Loops that control dependencies tie to other instructions stay as they are.
    """
    if not any("while" in c.opcodes for c in module.computations):
        return module
    names, shared = names_of(module), cache(lambda: shared_computations(module))
    word, scheduled = transformation.__name__.replace("_", "-"), module.header.is_scheduled

    def visit(computation: Computation, rewrites: SiteRewrites) -> None:
        if "while" not in computation.opcodes:
            return
        for loop, using in free_loops(computation):
            used = elements_used(loop.instr, using, is_root=loop.instr is computation.root)
            new = transformation(LoopSite(loop.instr, names, shared, loop, used, scheduled))
            if new is not None:
                plan = replacing(loop.instr, new, using)
                rewrites.add(word, loop.instr, new, plan=plan, by=transformation)

    return rewrite_sites(module, log, visit, finish=without_dead)


@remembered
def free_loops(computation: Computation) -> list[tuple[Loop, list[Instruction]]]:
    """The loops that no control dependencies tie to others, each with its users."""
    whiles = [instr for instr in computation.instructions if instr.opcode == "while"]
    users, tied = users_of(computation, whiles), ordered(computation)
    loops = (loop_of(instr) for instr in whiles if instr not in tied)
    return [(loop, users[loop.instr]) for loop in loops if loop is not None]


def replacing(
    old: Instruction, new: Instruction, using: list[Instruction]
) -> dict[Instruction, Instruction]:
    """The plan by which a tuple takes another's place; its elements go straight to who takes them.

    Parameters
    ----------
    using : the users of the old tuple.
    """
    plan = {old: new}
    if new.opcode == "tuple":
        for user in using:
            i = element_of(user, old)
            if i is not None:
                plan[user] = new.operands[i]
    return plan
