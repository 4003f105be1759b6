"""Computes producers in the kernels of their consumers, in the order of the time that it saves.

What `optimizer.fusion.instruction_fusion` decides by rules going backwards, this decides by a model
of the device: see `optimizer.fusion.priority`.

    e = f32[8] exponential(x)      f = f32[8] fusion(x), calls={ negate(exponential(x)) }
    n = f32[8] negate(e)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.fusion.instruction_fusion import fuse
from optimizer.fusion.policy import POLICIES
from optimizer.fusion.priority import PriorityPlanner
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class PriorityFusion:
    """Vertical fusion by modelled benefit, for GPUs."""

    name = "priority-fusion"
    xla = "xla/service/gpu/transforms/priority_fusion.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with fusions."""
        return fuse(module, log, lambda c: prioritized(module, c).groups, "gpu")


def prioritized(module: Module, computation: Computation) -> PriorityPlanner:
    """The fusion groups of one computation, by priority."""
    return PriorityPlanner(computation, POLICIES["gpu"], module.header)
