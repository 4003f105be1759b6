"""The base of transformations of conditionals: where one is, and new branches for it.

    c = f32[] conditional(p, x, y), true_computation=t, false_computation=f

The first operand is a pred, which chooses the first branch where it holds, or a number of a branch;
every other number stands for the last branch. Each branch gets one operand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hlo.effects import ordered, without_dead
from hlo.support.memo import remembered
from hlo.walk import Plan, names_of, users_of
from optimizer.calls.site import CallSite, shared_computations
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@dataclass(frozen=True)
class ConditionalSite(CallSite):
    """A conditional and its surroundings.

    Attributes
    ----------
    users : the instructions that use its value.
    is_root : it is the value of its computation.
    """

    users: list[Instruction]
    is_root: bool

    def branches(self) -> list[Computation]:
        """The branches, to be changed for this site."""
        return [self.own(c) for c in self.instr.called]


# Replacements, by the replaced instruction; empty if it does not apply.
Transformation = Callable[[ConditionalSite], Plan]


def transformed(module: Module, transformation: Transformation, log: Log) -> Module:
    """A module with a transformation done to each of its conditionals that it applies to.

    Those that control dependencies tie to other instructions, and those that are sharded, stay as
    they are.
    """
    if not any("conditional" in c.opcodes for c in module.computations):
        return module
    names, shared = names_of(module), cache(lambda: shared_computations(module))
    word = transformation.__name__.replace("_", "-")

    def visit(computation: Computation, rewrites: SiteRewrites) -> None:
        if "conditional" not in computation.opcodes:
            return
        for instr, using in _free_conditionals(computation):
            is_root = instr is computation.root
            site = ConditionalSite(instr, names, shared, using, is_root)
            changes = transformation(site)
            if changes:
                rewrites.add(word, instr, changes[instr], plan=changes)

    return rewrite_sites(module, log, visit, finish=without_dead)


@remembered
def _free_conditionals(computation: Computation) -> list[tuple[Instruction, list[Instruction]]]:
    """The conditionals that are neither tied to others nor sharded, each with its users."""
    conditionals = [i for i in computation.instructions if i.opcode == "conditional"]
    users, tied = users_of(computation, conditionals), ordered(computation)
    return [(i, users[i]) for i in conditionals if i not in tied and i.annotations.sharding is None]
