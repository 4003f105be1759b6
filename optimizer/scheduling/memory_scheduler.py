"""Chooses the order in which instructions run, such that they need little memory together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.error import HloError, did_you_mean
from hlo.walk import rebuild_module
from optimizer.analysis.alias import DEFAULT
from optimizer.analysis.dataflow import Dataflow
from optimizer.analysis.timeline import can_be_planned
from optimizer.calls.flatten_call_graph import FlattenCallGraph
from optimizer.log import Log
from optimizer.memory.buffer_assignment import block, shared
from optimizer.memory.copy_insertion import with_copies
from optimizer.memory.heap import peak
from optimizer.passes import register
from optimizer.scheduling.orders import ORDERS, Graph

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module
    from optimizer.analysis.alias import AliasInfo


@register
@dataclass(frozen=True)
class HloDescheduler:
    """Forgets a schedule, since what follows will change what it was made for.

    References
    ----------
    XLA, `xla/service/hlo_memory_scheduler.h`.
    """

    name = "hlo-descheduler"

    def run(self, module: Module, log: Log) -> Module:
        """The module without a schedule."""
        root = module.entry.root
        if not module.header.is_scheduled or not log.rewrite("deschedule", root, root):
            return module
        return replace(module, header=replace(module.header, is_scheduled=False))


@register
@dataclass(frozen=True)
class HloMemoryScheduler:
    """Puts instructions into an order, which from then on is the one in which they run.

    A module that is scheduled already is left as it is.

    Attributes
    ----------
    algorithm : one of `optimizer.scheduling.orders`; or "best", the one whose order needs the
        fewest bytes at its worst moment, copies included.

    References
    ----------
    XLA, `xla/service/hlo_memory_scheduler.cc`.
    """

    name = "hlo-memory-scheduler"
    algorithm: str = "best"

    def run(self, module: Module, log: Log) -> Module:
        """The scheduled module."""
        if self.algorithm not in ORDERS and self.algorithm != "best":
            known = did_you_mean(self.algorithm, [*ORDERS, "best"])
            message = f"{self.name} has no algorithm `{self.algorithm}`"
            raise HloError("HLO152", message, notes=known)
        if module.header.is_scheduled:
            return module
        module = FlattenCallGraph().run(module, log)
        if not can_be_planned(module):
            return module
        if self.algorithm == "best":
            algorithm, found = best_schedule(module)
        else:
            algorithm, found = self.algorithm, scheduled(module, self.algorithm)
        root = module.entry.root
        return found if log.rewrite(algorithm, root, found.entry.root) else module


def best_schedule(module: Module, info: AliasInfo = DEFAULT) -> tuple[str, Module]:
    """The algorithm whose order needs least memory, and the module in that order."""
    candidates = {name: scheduled(module, name, info) for name in ORDERS}
    candidates["as-written"] = as_scheduled(module)
    bytes_of = {name: peak_bytes(found, info) for name, found in candidates.items()}
    best = min(candidates, key=lambda name: bytes_of[name])
    return best, candidates[best]


def scheduled(module: Module, algorithm: str, info: AliasInfo = DEFAULT) -> Module:
    """A module in the order of an algorithm."""
    flow = Dataflow(module, info)
    order = ORDERS[algorithm]
    homes = {c.name: c for c in flow.timeline.first}

    def change(computation: Computation) -> Computation:
        old = homes.get(computation.name)
        if old is None:
            return computation
        # Instructions whose callees were changed are others now, but have their names.
        became = {i.name: i for i in computation.instructions}
        instructions = tuple([became[i.name] for i in order(Graph(old, flow))])
        if instructions == computation.instructions:
            return computation
        return replace(computation, instructions=instructions)

    return as_scheduled(rebuild_module(module, change))


def as_scheduled(module: Module) -> Module:
    """A module whose instructions run in the order in which they stand."""
    return replace(module, header=replace(module.header, is_scheduled=True))


def peak_bytes(module: Module, info: AliasInfo = DEFAULT) -> int:
    """Bytes of temporary arrays, and of copies that are needed, at the worst moment."""
    buffers = shared(with_copies(module, lambda _: info, Log()), info)
    return peak([block(b) for b in buffers if not b.fixed and not b.output])
