"""Iterations conditionals inside of maps into selects.

    c = f32[] conditional(p, x, y), true_computation=negate, false_computation=sine

    s = f32[] select(p, negate(x), sine(y))

What is applied element by element can't branch: on most machines neighbouring elements go the same
way anyhow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.effects import has_effect
from hlo.types.element_type import PRED
from hlo.walk import callers
from optimizer.conditionals.branches import ConditionalSite, transformed
from optimizer.conditionals.choice import both
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Module
    from hlo.walk import Plan
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class ConditionalToSelect:
    """Computes both branches of a scalar conditional inside of a map, and selects."""

    name = "conditional-to-select"
    xla = "xla/service/conditional_to_select.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module without conditionals in maps."""
        inside = {
            instr.name
            for computation, calls in callers(module).items()
            if any(call.opcode == "map" for call in calls)
            for instr in computation.instructions
        }

        def to_select(site: ConditionalSite) -> Plan:
            instr = site.instr
            by_pred = instr.operands[0].shape.element_type is PRED
            if instr.name not in inside or not by_pred or not instr.shape.is_array:
                return {}
            return {} if has_effect(instr) else {instr: both(site)}

        return transformed(module, to_select, log)
