"""Chooses the layout of every array, and copies where one user needs another.

    p = f32[2,3]{1,0} parameter(0)                      p = f32[2,3]{1,0} parameter(0)
    t = f32[3,2]{1,0} transpose(p)                      t = f32[3,2]{0,1} transpose(p)
    q = f32[3,2]{1,0} transpose(o)             =>       q = f32[3,2]{0,1} transpose(o)
    a = f32[3,2]{1,0} add(t, q)                         a = f32[3,2]{0,1} add(t, q)
    ROOT r = (f32[3,2]{1,0}) tuple(a)                   copy.1 = f32[3,2]{1,0} copy(a)

What is settled: the entry's parameters and result, by the module's header; custom calls, fusions,
bitcasts and what talks to the outside, as written; contractions, by the target's policy. From
there layouts flow through the other instructions, forwards and backwards, such that few bytes are
copied (`planner`): above, one copy where there were two transpositions, which now move nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.types.values import ComputationLayout
from hlo.walk import called_first, names_of
from optimizer.layout.assigner import Assigner
from optimizer.layout.policy import POLICIES
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Module
    from optimizer.log import Log


# A copy keeps its layouts, but where a round leaves it nothing to move it is free in the next one.
MOST_ROUNDS = 8


@register
@dataclass(frozen=True)
class LayoutAssignment:
    """Gives every instruction a layout.

    Attributes
    ----------
    target : whose policy: a row of `policy.POLICIES`.
    """

    name = "layout-assignment"
    xla = (
        "xla/service/layout_assignment.cc; the choice is simpler here, one instruction at a "
        "time by bytes, where XLA keeps a queue of constraints with priorities"
    )
    target: str = "cpu"

    def run(self, module: Module, log: Log) -> Module:
        """The module in its final layouts."""
        before, after = module, self.assigned(module)
        for _ in range(MOST_ROUNDS):
            if after is before:
                break
            before, after = after, self.assigned(after)
        if after is module or not log.rewrite("layouts", module.entry.root, after.entry.root):
            return module
        return after

    def assigned(self, module: Module) -> Module:
        """The module after one round of choices; itself where none changes a layout."""
        entry = Assigner(module, POLICIES[self.target], names_of(module)).run()
        if entry is module.entry:
            return module
        header = module.header
        if header.entry_computation_layout is not None:
            layout = ComputationLayout(tuple(p.shape for p in entry.parameters), entry.root.shape)
            header = replace(header, entry_computation_layout=layout)
        return replace(module, computations=tuple(called_first(entry)), entry=entry, header=header)
