"""One driver for passes that make kernels: fusions take the place of what they compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.effects import dead, without
from hlo.opcode import SEQUENTIAL
from hlo.walk import Plan, rebuild, rebuild_module

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@dataclass(frozen=True, slots=True)
class NewKernel:
    """A fusion that takes the place of instructions.

    Attributes
    ----------
    replaced : the one of them that the log names.
    values : what takes the place of each value that others use.
    gone : the names of the instructions that it computes.
    """

    replaced: Instruction
    fusion: Instruction
    values: Plan
    gone: Collection[str]


def with_kernels(
    module: Module,
    log: Log,
    word: str,
    kernels: Callable[[Computation], Iterable[NewKernel]],
    besides: Collection[str] = (),
) -> Module:
    """A module with new kernels, as far as the log allows them.

    Parameters
    ----------
    word : what the log calls the making of one.
    kernels : finds those of a computation.
    besides : the names of computations that stay as they are, as all do that are no sequence.
    """
    sequential = {c.name for c in sequential_computations(module)}.difference(besides)

    def change(computation: Computation) -> Computation:
        if computation.name not in sequential:
            return computation
        plan: Plan = {}
        gone: set[str] = set()
        for kernel in kernels(computation):
            if log.rewrite(word, kernel.replaced, kernel.fusion):
                plan |= kernel.values
                gone.update(kernel.gone)
        return without_fused(rebuild(computation, plan), gone)

    return rebuild_module(module, change)


def sequential_computations(module: Module) -> list[Computation]:
    """The computations whose instructions run one after the other, each with its own buffers."""
    computations: dict[Computation, None] = {}
    stack = [module.entry]
    while stack:
        computation = stack.pop()
        if computation not in computations:
            computations[computation] = None
            for instr in computation.instructions:
                stack += instr.called if instr.opcode in SEQUENTIAL else ()
    return list(computations)


def without_fused(computation: Computation, fused_names: Collection[str]) -> Computation:
    """A computation without the instructions that now only fusions compute."""
    gone = {i for i in dead(computation) if i.name in fused_names}
    # Dead instructions that no fusion computes are not ours to remove, nor their operands.
    for instr in reversed(computation.instructions):
        if instr not in gone:
            gone.difference_update(instr.operands, instr.control_predecessors)
    return without(computation, gone)
