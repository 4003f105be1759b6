"""Where a loop stands: who uses it, and how to make new instructions around it.

A transformation of loops is a function of a site: it gives what takes the loop's place, or None if
it does not apply. `transformed` tries one on every loop of a module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hlo.attributes.annotations import Annotations
from hlo.support.memo import remembered
from hlo.walk import callers, names_of, rebuild, rebuild_module, users_of
from optimizer.calls.clone import cloned
from optimizer.effects import ordered, without_dead
from optimizer.loops.state import element_of, elements_used, loop_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log
    from optimizer.loops.state import Loop

Transformation = Callable[["LoopSite"], "Instruction | None"]


@dataclass(frozen=True)
class LoopSite:
    """A loop and its surroundings.

    Attributes
    ----------
    used : the elements of its state that are used after it.
    shared : gives the names of computations that several instructions call.
    """

    loop: Loop
    used: set[int]
    names: NameSupply
    shared: Callable[[], set[str]]

    def initial(self, i: int) -> Instruction:
        """What an element of the state is at first."""
        return self.loop.initial(i) or self.element(self.loop.instr.operands[0], i)

    def element(self, whole: Instruction, i: int) -> Instruction:
        """An element of a tuple that stands here."""
        return self.named(make("get-tuple-element", whole, index=i))

    def named(self, instr: Instruction) -> Instruction:
        """A new instruction, with a name of its own and the loop's place in the user's source."""
        at = self.loop.instr
        annotations = Annotations(metadata=at.annotations.metadata)
        name = self.names.unique(instr.name)
        return instr.with_(name=name, annotations=annotations, span=at.span)

    def own(self, computation: Computation) -> Computation:
        """A computation that may be changed for this loop: a copy if others call it too."""
        shared = computation.name in self.shared()
        return cloned(computation, self.names) if shared else computation


def transformed(module: Module, transformation: Transformation, log: Log) -> Module:
    """A module with a transformation done to each of its loops that it applies to.

    Loops that control dependencies tie to other instructions stay as they are.
    """
    if not any("while" in c.opcodes for c in module.computations):
        return module
    names, shared = names_of(module), cache(lambda: shared_computations(module))
    word = transformation.__name__.replace("_", "-")

    def change(computation: Computation) -> Computation:
        if "while" not in computation.opcodes:
            return computation
        plan: dict[Instruction, Instruction] = {}
        for loop, using in free_loops(computation):
            used = elements_used(loop.instr, using, is_root=loop.instr is computation.root)
            new = transformation(LoopSite(loop, used, names, shared))
            if new is not None and log.rewrite(word, loop.instr, new, by=transformation):
                plan |= replacing(loop.instr, new, using)
        return without_dead(rebuild(computation, plan)) if plan else computation

    return rebuild_module(module, change)


@remembered
def free_loops(computation: Computation) -> list[tuple[Loop, list[Instruction]]]:
    """The loops that no control dependencies tie to others, each with its users."""
    whiles = [instr for instr in computation.instructions if instr.opcode == "while"]
    users, tied = users_of(computation, whiles), ordered(computation)
    loops = (loop_of(instr) for instr in whiles if instr not in tied)
    return [(loop, users[loop.instr]) for loop in loops if loop is not None]


def shared_computations(module: Module) -> set[str]:
    """The names of computations that several instructions call."""
    return {c.name for c, found in callers(module).items() if len(found) > 1}


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
