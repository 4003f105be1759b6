"""What transformations of conditionals share: where one stands, and new branches for it.

    c = f32[] conditional(p, x, y), true_computation=t, false_computation=f

The first operand is a pred, which chooses the first branch where it holds, or a number of a branch;
every other number stands for the last branch. Each branch gets one operand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hlo.attributes.annotations import Annotations
from hlo.support.memo import remembered
from hlo.walk import Plan, callers, names_of, rebuild, rebuild_module, users_of
from optimizer.calls.clone import cloned
from optimizer.effects import ordered, without_dead

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log


@dataclass(frozen=True)
class ConditionalSite:
    """A conditional and its surroundings.

    Attributes
    ----------
    users : the instructions that use its value.
    is_root : it is the value of its computation.
    shared : gives the names of computations that are called more than once.
    """

    instr: Instruction
    users: list[Instruction]
    is_root: bool
    names: NameSupply
    shared: Callable[[], set[str]]

    def named(self, instr: Instruction) -> Instruction:
        """A new instruction, with a name of its own and this one's place in the user's source."""
        annotations = Annotations(metadata=self.instr.annotations.metadata)
        name = self.names.unique(instr.name)
        return instr.with_(name=name, annotations=annotations, span=self.instr.span)

    def own(self) -> list[Computation]:
        """The branches, to be changed for this place: copies of those that others call too."""
        shared = self.shared()
        return [cloned(c, self.names) if c.name in shared else c for c in self.instr.called]


# What takes whose place; nothing if it does not apply.
Transformation = Callable[[ConditionalSite], Plan]


def transformed(module: Module, transformation: Transformation, log: Log) -> Module:
    """A module with a transformation done to each of its conditionals that it applies to.

    Those that control dependencies tie to other instructions, and those that are sharded, stay as
    they are.
    """
    if not any("conditional" in c.opcodes for c in module.computations):
        return module
    names, shared = names_of(module), cache(lambda: _shared(module))
    word = transformation.__name__.replace("_", "-")

    def change(computation: Computation) -> Computation:
        if "conditional" not in computation.opcodes:
            return computation
        plan: Plan = {}
        for instr, using in _free_conditionals(computation):
            is_root = instr is computation.root
            place = ConditionalSite(instr, using, is_root, names, shared)
            changes = transformation(place)
            if changes and log.rewrite(word, instr, changes[instr]):
                plan |= changes
        return without_dead(rebuild(computation, plan)) if plan else computation

    return rebuild_module(module, change)


@remembered
def _free_conditionals(computation: Computation) -> list[tuple[Instruction, list[Instruction]]]:
    """The conditionals that are neither tied to others nor sharded, each with its users."""
    found = [i for i in computation.instructions if i.opcode == "conditional"]
    users, tied = users_of(computation, found), ordered(computation)
    return [(i, users[i]) for i in found if i not in tied and i.annotations.sharding is None]


def _shared(module: Module) -> set[str]:
    """The names of computations that are called more than once."""
    found = callers(module).items()
    return {c.name for c, calls in found if sum(i.called.count(c) for i in calls) > 1}
