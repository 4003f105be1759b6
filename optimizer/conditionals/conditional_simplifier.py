"""Simplifies conditionals: fewer operands and results, and no conditional where that is better.

    c = f32[] conditional(true, x, y), true_computation=negate, ...        c = f32[] negate(x)

Each transformation is a function of its own, and stands in `results` or `choice`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.cleanup.tuple_simplifier import TupleSimplifier
from optimizer.conditionals.branches import transformed
from optimizer.conditionals.choice import cheap_branches, identical_branches, known_branch
from optimizer.conditionals.results import merged_results, unused_operands, unused_results
from optimizer.passes import register
from optimizer.settle import settle

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
    """Makes conditionals smaller or takes them away.

    References
    ----------
    XLA, `xla/service/conditional_simplifier.cc`.
    """

    name = "simplify-conditional"

    def run(self, module: Module, log: Log) -> Module:
        """The module with simpler conditionals."""
        return settle(module, lambda m: _once(m, log))


def _once(module: Module, log: Log) -> Module:
    """Every transformation in turn; the tuples that they leave behind are simplified."""
    changed = module
    for transformation in TRANSFORMATIONS:
        changed = transformed(changed, transformation, log)
    return changed if changed is module else log.run(TupleSimplifier(), changed)
