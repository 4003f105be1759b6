"""Simplifies conditionals: fewer operands and results, and no conditional where that is better.

    c = f32[] conditional(true, x, y), true_computation=negate, ...        c = f32[] negate(x)

Each transformation is a function of its own, and is in `results` or `choice`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.cleanup.in_turn import in_turn
from optimizer.conditionals.branches import transformed
from optimizer.conditionals.choice import cheap_branches, identical_branches, known_branch
from optimizer.conditionals.results import merged_results, unused_operands, unused_results
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Module
    from optimizer.log import Log

# In XLA's order.
TRANSFORMATIONS = (
    merged_results,
    unused_results,
    known_branch,
    identical_branches,
    cheap_branches,
    unused_operands,
)


@register
@dataclass(frozen=True)
class ConditionalSimplifier:
    """Simplifies conditionals, or removes them."""

    name = "simplify-conditional"
    xla = "xla/service/conditional_simplifier.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with simpler conditionals."""
        return in_turn(module, log, TRANSFORMATIONS, transformed)
