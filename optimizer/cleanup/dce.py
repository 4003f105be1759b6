"""Dead code elimination: removes instructions whose value nobody needs.

Needed is the root of each computation, whatever has an effect, what control dependencies tie to
something, and the operands of whatever is needed. Computations that nobody calls go as well, and so
do outputs of fusions that nobody uses, and operands that a fusion does not use.

    dead = f32[] add(x, x)                 (gone)
    ROOT live = f32[] multiply(x, x)       ROOT live = f32[] multiply(x, x)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.effects import dead, ordered, without
from hlo.walk import Plan, callers, names_of, rebuild, rebuild_module, users
from optimizer.cleanup.fusion_trimmer import trimmed
from optimizer.passes import register
from optimizer.rewriting.settle import settle

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class Dce:
    """Removes dead instructions and computations."""

    name = "dce"
    xla = "xla/hlo/transforms/simplifiers/hlo_dce.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module without dead instructions."""
        names = names_of(module)
        fused = any("fusion" in computation.opcodes for computation in module.computations)
        calls_of = callers(module) if fused else {}
        shared = {c.name for c, calling in calls_of.items() if len(calling) > 1}

        def cleaned(computation: Computation) -> Computation:
            # Users first, so that whatever is left when the fuel is gone has its operands.
            gone = [i for i in reversed(dead(computation)) if log.rewrite("dead", i)]
            return trim(without(computation, gone))

        def trim(computation: Computation) -> Computation:
            if "fusion" not in computation.opcodes:
                return computation
            fusions = [i for i in computation.instructions if i.opcode == "fusion"]
            plan: Plan = {}
            users_of, tied = users(computation), ordered(computation)
            for instr in fusions:
                using = users_of[instr] if instr is not computation.root else None
                changes = {} if instr in tied else trimmed(instr, using, names, shared)
                if changes and log.rewrite("trim", instr, changes[instr]):
                    plan |= changes
            return rebuild(computation, plan)

        return rebuild_module(module, lambda computation: settle(computation, cleaned))
