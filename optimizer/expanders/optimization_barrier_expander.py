"""Removes optimization barriers, once no pass is left that they should hold back.

opt-barrier(x)   =>   x
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import Site, expand
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class OptimizationBarrierExpander:
    """Replaces barriers by what they guard. Only for the end of a pipeline.

    References
    ----------
    XLA, `xla/hlo/transforms/expanders/optimization_barrier_expander.cc`.
    """

    name = "cse_barrier_expander"

    def run(self, module: Module, log: Log) -> Module:
        """The module without barriers."""
        return expand(module, log, {"opt-barrier": remove_barrier})


def remove_barrier(site: Site) -> Instruction:
    """The operand."""
    return site.instr.operands[0]
