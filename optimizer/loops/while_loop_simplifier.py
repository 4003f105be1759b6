"""Simplifies loops: less state to carry, and no loop at all where it runs once or never.

A loop that carries its counter, an array, and a copy of that array that it never changes:

    while (i < 8) { i, x, y = i + 1, x * y, y }    => y is no state

Each transformation is a function of its own, and is in `elements`, `by_trip_count` or
`flatten`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.cleanup.in_turn import in_turn
from optimizer.loops.by_trip_count import never_runs, runs_once, trivial_compares
from optimizer.loops.elements import (
    constant_elements,
    dead_elements,
    induction_variables,
    repeated_elements,
)
from optimizer.loops.flatten import flatten_nested_tuples
from optimizer.loops.site import transformed
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Module
    from optimizer.log import Log

# In XLA's order.
TRANSFORMATIONS = (
    repeated_elements,
    flatten_nested_tuples,
    constant_elements,
    never_runs,
    runs_once,
    trivial_compares,
    dead_elements,
    induction_variables,
)


@register
@dataclass(frozen=True)
class WhileLoopSimplifier:
    """Simplifies loops, or removes them."""

    name = "simplify-while-loops"
    xla = "xla/service/while_loop_simplifier.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with simpler loops."""
        return in_turn(module, log, TRANSFORMATIONS, transformed)
