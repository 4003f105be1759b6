"""Again and again, until nothing changes: how passes go over a module and its computations."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hlo.walk import Plan, names_of, rebuild, rebuild_module, users
from optimizer.effects import without_dead

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log

    Exchange = Callable[[Instruction, set[Instruction], NameSupply], Instruction | None]

Thing = TypeVar("Thing")


def settle(thing: Thing, change: Callable[[Thing], Thing]) -> Thing:
    """What becomes of something when it is changed until that gives back the same object."""
    before = None
    while thing is not before:
        before = thing
        thing = change(thing)
    return thing


def rebuild_unfused(module: Module, change: Callable[[Computation], Computation]) -> Module:
    """Change each computation, callees first, but none that is fused: those are kernels already."""
    fused = {
        callee.name
        for computation in module.computations
        if "fusion" in computation.opcodes
        for instr in computation.instructions
        if instr.opcode == "fusion"
        for callee in instr.called
    }
    return rebuild_module(module, lambda c: c if c.name in fused else change(c))


def replace_each(
    module: Module,
    log: Log,
    word: str,
    replacement: Callable[[Instruction], Instruction | None],
    over: Callable[[Module, Callable[[Computation], Computation]], Module] = rebuild_module,
) -> Module:
    """A module in which instructions are replaced, each by itself.

    Parameters
    ----------
    word : what a rewrite is called.
    replacement : of an instruction, with its name and annotations; None leaves it alone.
    over : which computations are changed: all, or with `rebuild_unfused` those that are no kernels.
    """

    def change(computation: Computation) -> Computation:
        plan: Plan = {}
        for instr in computation.instructions:
            new = replacement(instr)
            if new is not None and log.rewrite(word, instr, new, by=replacement):
                plan[instr] = new
        return rebuild(computation, plan)

    return over(module, change)


def exchange(module: Module, log: Log, word: str, exchanged: Exchange) -> Module:
    """A module in which instructions have changed places with their operands, as far as they go.

    Parameters
    ----------
    word : what a rewrite is called.
    exchanged : what takes an instruction's place, None if nothing does; given also the instructions
        that have one user, and so may go to its other side, and names for new ones.
    """
    return settle(module, lambda m: _exchanged_once(m, log, word, exchanged))


def _exchanged_once(module: Module, log: Log, word: str, exchanged: Exchange) -> Module:
    names = names_of(module)

    def change(computation: Computation) -> Computation:
        plan: Plan = {}
        using = users(computation)
        awaited = {p for i in computation.instructions for p in i.control_predecessors}
        awaited.add(computation.root)
        alone = {i for i, found in using.items() if len(found) == 1 and i not in awaited}
        for instr in computation.instructions:
            if instr.control_predecessors or any(o in plan for o in instr.operands):
                continue
            new = exchanged(instr, alone, names)
            if new is not None and log.rewrite(word, instr, *new.operands, new):
                plan[instr] = new
        return without_dead(rebuild(computation, plan)) if plan else computation

    return rebuild_unfused(module, change)
