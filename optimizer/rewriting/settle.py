"""Again and again, until nothing changes: how passes go over a module and its computations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hlo.effects import without_dead
from hlo.walk import names_of, users
from optimizer.rewriting.sites import (
    SiteRewrites,
    rebuild_unfused,
    rewrite_computation,
    rewrite_sites,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log
    from optimizer.rewriting.sites import Visit

    Exchange = Callable[[Instruction, set[Instruction], NameSupply], Instruction | None]

Thing = TypeVar("Thing")


def settle(thing: Thing, change: Callable[[Thing], Thing]) -> Thing:
    """The fixpoint of a change, which gives back the same object there."""
    before = None
    while thing is not before:
        before = thing
        thing = change(thing)
    return thing


def settle_sites(module: Module, log: Log, visit: Visit) -> Module:
    """A module in which no visit of an unfused computation finds a rewrite; see `rewrite_sites`."""

    def once(computation: Computation) -> Computation:
        return rewrite_computation(computation, log, visit, without_dead)

    return rebuild_unfused(module, lambda computation: settle(computation, once))


def exchange(module: Module, log: Log, word: str, exchanged: Exchange) -> Module:
    """A module in which instructions are exchanged with their operands, as far as they go.

    Parameters
    ----------
    word : what a rewrite is called.
    exchanged : what takes an instruction's place, None if nothing does; given also the instructions
        that have one user, and so may go to its other side, and names for new ones.
    """
    return settle(module, lambda m: _exchanged_once(m, log, word, exchanged))


def _exchanged_once(module: Module, log: Log, word: str, exchanged: Exchange) -> Module:
    names = names_of(module)

    def visit(computation: Computation, rewrites: SiteRewrites) -> None:
        using = users(computation)
        awaited = {p for i in computation.instructions for p in i.control_predecessors}
        awaited.add(computation.root)
        alone = {i for i, user_list in using.items() if len(user_list) == 1 and i not in awaited}
        for instr in computation.instructions:
            if instr.control_predecessors or any(o in rewrites.plan for o in instr.operands):
                continue
            new = exchanged(instr, alone, names)
            if new is not None:
                rewrites.add(word, instr, *new.operands, new)

    return rewrite_sites(module, log, visit, rebuild_unfused, without_dead)
