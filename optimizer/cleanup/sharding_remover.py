"""Removes shardings and their custom calls where there is one partition.

custom-call(x), custom_call_target="Sharding"   =>   x
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.sharded import reshardings
from optimizer.expanders.op_expander import ExpansionSite, expand
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log

# Of one partition, a shard is the whole.
TARGETS = frozenset(
    {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.FuncResultSharding"}
)


@register
@dataclass(frozen=True)
class ShardingRemover:
    """Removes custom calls that only say how their operand is sharded."""

    name = "sharding-remover"
    xla = "xla/service/sharding_remover.cc; its compilers run it if there is one partition"

    def run(self, module: Module, log: Log) -> Module:
        """The module without such calls; the same one if it has several partitions.

        HLO's text need not count them: a call that cuts a value into smaller parts needs the
        sharding of its operand.
        """
        if module.header.num_partitions > 1 or reshardings(module):
            return module
        return expand(module, log, {"custom-call": remove_sharding})


def remove_sharding(site: ExpansionSite) -> Instruction | None:
    """The operand; None for any other custom call, and where the types differ."""
    instr = site.instr
    if CustomCall.of(instr).custom_call_target not in TARGETS:
        return None
    same = [operand.shape for operand in instr.operands] == [instr.shape]
    return instr.operands[0] if same else None
