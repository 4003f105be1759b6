"""Starts computations with all of their operands at once.

    start = ((a), r) async-start(x), calls=f          start = ((a, b), r) async-start(x, y), calls=f
    update = ((a, b), r) async-update(start, y)  =>
    ROOT done = r async-done(update)                  ROOT done = r async-done(start)

A computation can run when all of its parameters are bound. An async-update may bind some of them
later than the start did; passes and backends behind this one need not know of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.walk import names_of, rebuild, rebuild_module
from optimizer.effects import without
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class AsyncOperandBinder:
    """Replaces async-updates that bind operands by starts with all operands.

    References
    ----------
    XLA, ShapeVerifier::CheckAsyncUpdateOperands in `xla/service/hlo_verifier.cc`, for what an
    update may bind; XLA has no such pass.
    """

    name = "async-operand-binder"

    def run(self, module: Module, log: Log) -> Module:
        """The module without async-updates that bind operands."""
        names = names_of(module)

        def change(computation: Computation) -> Computation:
            plan: dict[Instruction, Instruction] = {}
            gone: set[Instruction] = set()
            for instr in reversed(computation.instructions):
                if instr in gone or instr.opcode != "async-update" or len(instr.operands) == 1:
                    continue
                before = chain_to(instr)
                new = bound(before).with_(
                    name=names.unique(before[0].name), annotations=instr.annotations
                )
                if log.rewrite("bind", instr, new):
                    plan[instr] = new
                    gone.update(before)
            return without(rebuild(computation, plan), gone)

        return rebuild_module(module, change)


def chain_to(update: Instruction) -> list[Instruction]:
    """From the start to an update; each is used by the next one alone."""
    chain = [update]
    while chain[0].opcode == "async-update":
        chain.insert(0, chain[0].operands[0])
    return chain


def bound(chain: list[Instruction]) -> Instruction:
    """The start, with all operands that it and updates bind."""
    start, *updates = chain
    later = [operand for update in updates for operand in update.operands[1:]]
    return start.with_(operands=(*start.operands, *later), shape=updates[-1].shape)
