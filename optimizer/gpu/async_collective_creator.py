"""Splits collectives into a start and a done, so that something else can run in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import having
from hlo.walk import names_of, rebuild, rebuild_module
from optimizer.gpu.async_pairs import pair
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log

SPLIT = having("collective") - having("async")


@register
@dataclass(frozen=True)
class AsyncCollectiveCreator:
    """Makes pairs of collectives; `latency-hiding-scheduler` then moves the halves apart."""

    name = "async-collective-creator"
    xla = "xla/hlo/transforms/collectives/async_collective_creator.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module whose collectives are asynchronous."""
        names = names_of(module)

        def change(computation: Computation) -> Computation:
            if len(computation.instructions) == len(computation.parameters) + 1:
                # What an async-start runs; another one inside it would gain nothing.
                return computation
            plan: dict[Instruction, Instruction] = {}
            for instr in computation.instructions:
                if instr.opcode in SPLIT:
                    new = pair(instr, names)
                    if log.rewrite("split", instr, *new):
                        plan[instr] = new[-1]
            return rebuild(computation, plan)

        return rebuild_module(module, change)
