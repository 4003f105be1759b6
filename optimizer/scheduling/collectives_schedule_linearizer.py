"""Lets every two collectives run in the order in which they appear.

    a = f32[4] all-reduce(x)            a = f32[4] all-reduce(x)
    b = f32[4] all-reduce(y)     =>     b = f32[4] all-reduce(y), control-predecessors={a}

Devices wait for each other, so all must come to the same collectives in the same order, and a value
must be sent before its sender waits for another one. Where branches of a conditional differ, a
scheduler that knows only of data could choose another order for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import DONE_OF, SEQUENTIAL, having
from hlo.support.memo import callees_first
from optimizer.passes import register
from optimizer.rewriting.sites import replace_each

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log

# What waits for other devices, or what others wait for.
_STARTED = having("collective") & DONE_OF.keys()
_MEETING = {
    *having("collective"),
    *(DONE_OF[start] for start in _STARTED),
    *(having("host") & having("async")),
}


@register
@dataclass(frozen=True)
class CollectivesScheduleLinearizer:
    """Ties each collective to the one before it by a control dependency."""

    name = "collectives-schedule-linearizer"
    xla = "xla/hlo/transforms/collectives/collectives_schedule_linearizer.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module whose collectives run in the order of its text."""
        before: dict[Instruction, Instruction] = {}
        for computation in module.computations:
            meeting = [i for i in computation.instructions if _meets(i)]
            before |= zip(meeting[1:], meeting[:-1], strict=True)

        def tied(instr: Instruction) -> Instruction | None:
            last = before.get(instr)
            if last is None or last in (*instr.operands, *instr.control_predecessors):
                return None
            return instr.with_(control_predecessors=(*instr.control_predecessors, last))

        return replace_each(module, log, "order", tied) if before else module


def _meets(instr: Instruction) -> bool:
    """Whether an instruction, or one in a computation that it runs, needs other devices."""
    if instr.opcode in _MEETING:
        return True
    return instr.opcode in SEQUENTIAL and any(map(_has_meetings, instr.called))


@callees_first
def _has_meetings(computation: Computation) -> bool:
    """Whether an instruction of a computation, or of those that it runs, needs other devices."""
    return any(map(_meets, computation.instructions))
