"""Orders instructions so that asynchronous operations end before they are waited for.

A list scheduler over a simulated clock. At each step it takes one of the instructions whose
operands are issued, by priority: a start; a done whose operation has ended by now; the kernel with
the longest path to the end; and last, a done for which the main stream must wait.
Collectives must start in the same order on all devices, and do: these run the same schedule.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.opcode import DONE, STARTS
from hlo.walk import called_first, rebuild_module
from optimizer.gpu.device import A100, COMPUTE
from optimizer.gpu.paths import needed_by, paths_to_end
from optimizer.gpu.timeline import Clock
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.gpu.device import DeviceRates
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class LatencyHidingScheduler:
    """Puts the instructions of each computation with asynchronous pairs into a better order."""

    name = "latency-hiding-scheduler"
    xla = (
        "xla/service/latency_hiding_scheduler.cc, which goes from the end to the start and "
        "also minds memory"
    )

    def run(self, module: Module, log: Log) -> Module:
        """The module, scheduled."""

        def change(computation: Computation) -> Computation:
            if not any(i.opcode in STARTS for i in computation.instructions):
                return computation
            order = tuple(scheduled(computation, A100))
            root = computation.root
            if order == computation.instructions or not log.rewrite("schedule", root, root):
                return computation
            return replace(computation, instructions=order)

        changed = rebuild_module(module, change)
        if changed is module or module.header.is_scheduled:
            return changed
        order = called_first(changed.entry)
        header = replace(changed.header, is_scheduled=True)
        return replace(changed, header=header, computations=tuple(order))


class Ready:
    """Instructions whose operands have been issued, each kind in the order in which it is taken."""

    def __init__(self, computation: Computation, device: DeviceRates) -> None:
        self.paths = paths_to_end(computation, device)
        self.number = {i: n for n, i in enumerate(computation.instructions)}
        self.starts: list[tuple[float, int, Instruction]] = []
        self.dones: list[tuple[float, int, Instruction]] = []
        self.others: list[tuple[float, int, Instruction]] = []

    def add(self, instr: Instruction, clock: Clock) -> None:
        """An instruction may be issued from now on."""
        at = self.number[instr]
        if instr.opcode in STARTS:
            heapq.heappush(self.starts, (-self.paths[instr], at, instr))
        elif instr.opcode in DONE:
            heapq.heappush(self.dones, (clock.ready[instr.operands[0]], at, instr))
        else:
            heapq.heappush(self.others, (-self.paths[instr], at, instr))

    def take(self, now: float) -> Instruction:
        """The instruction to issue next."""
        ended = self.dones and self.dones[0][0] <= now
        queue = self.starts or (self.dones if ended or not self.others else self.others)
        return heapq.heappop(queue)[-1]

    def __bool__(self) -> bool:
        """Whether there is anything to issue."""
        return bool(self.starts or self.dones or self.others)


def scheduled(computation: Computation, device: DeviceRates) -> list[Instruction]:
    """The instructions in the order in which to issue them."""
    users, clock = needed_by(computation), Clock(device)
    waits = {i: len({*i.operands, *i.control_predecessors}) for i in computation.instructions}
    ready = Ready(computation, device)
    order: list[Instruction] = []
    for instr in computation.instructions:
        if not waits[instr]:
            ready.add(instr, clock)
    while ready:
        instr = ready.take(clock.now[COMPUTE])
        clock.issue(instr)
        order.append(instr)
        for user in users[instr]:
            waits[user] -= 1
            if not waits[user]:
                ready.add(user, clock)
    return order
