"""Sums of sums over devices are exchanged once.

    add(all-reduce(x), all-reduce(y))    =>    all-reduce(add(x, y))

Both all-reduces have the same groups and add as the instruction does, and nobody else uses them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.effects import ordered, without_named
from hlo.walk import names_of, rebuild, rebuild_module, users
from interpreter.numbers.compare import ROUNDING
from optimizer.passes import register
from optimizer.reducers import operation_of
from optimizer.rewriting.adopting import adopted, in_place_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class AllReduceReassociate:
    """Replaces two all-reduces that are added by one of their sum."""

    name = "all-reduce-reassociate"
    xla = "xla/service/all_reduce_reassociate.cc"
    promise = ROUNDING

    def run(self, module: Module, log: Log) -> Module:
        """The module with fewer collectives."""
        names = names_of(module)

        def changed(computation: Computation) -> Computation:
            while "all-reduce" in computation.opcodes:
                users_of, there = users(computation), frozenset(computation.instructions)
                tied = ordered(computation)
                for instr in computation.instructions:
                    alone = all(users_of[o] == [instr] for o in instr.operands)
                    free = tied.isdisjoint((instr, *instr.operands))
                    if not alone or not free or not are_one(instr):
                        continue
                    first, second = instr.operands
                    inner = make(instr.opcode, first.operands[0], second.operands[0])
                    reduced = first.with_(operands=(inner,))
                    new = adopted(in_place_of(reduced, instr), instr, there, names)
                    if log.rewrite("exchange once", instr, *new):
                        gone = {first.name, second.name}
                        computation = without_named(rebuild(computation, {instr: new[-1]}), gone)
                        break
                else:
                    return computation
            return computation

        return rebuild_module(module, changed)


def are_one(instr: Instruction) -> bool:
    """Whether an instruction folds two all-reduces as these fold values of devices."""
    if not instr.row.elementwise or len(instr.operands) != 2 or len(set(instr.operands)) != 2:
        return False
    if any(o.opcode != "all-reduce" or len(o.operands) != 1 for o in instr.operands):
        return False
    first, second = (replace(a.AllReduce.of(o), channel_id=None) for o in instr.operands)
    folds = {operation_of(o.called[0], o) for o in instr.operands}
    return first == second and folds == {instr.opcode}
