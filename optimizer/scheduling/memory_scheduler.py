"""Chooses the order in which instructions run, such that they need little memory together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.errors.error import HloError, did_you_mean
from hlo.walk import rebuild_module
from optimizer.analysis.alias import DEFAULT
from optimizer.analysis.dataflow import Dataflow
from optimizer.analysis.timeline import can_be_planned
from optimizer.calls.flatten_call_graph import FlattenCallGraph
from optimizer.log import Log
from optimizer.memory.buffer_assignment import as_few_as_may_be, block
from optimizer.memory.copy_insertion import copied
from optimizer.memory.heap import peak
from optimizer.passes import register
from optimizer.scheduling.orders import ORDERS, DependencyGraph

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Computation, Module


@register
@dataclass(frozen=True)
class HloDescheduler:
    """Forgets a schedule, since later passes will change its instructions."""

    name = "hlo-descheduler"
    xla = "xla/service/hlo_memory_scheduler.h"

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
    """

    name = "hlo-memory-scheduler"
    xla = "xla/service/hlo_memory_scheduler.cc"
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
            algorithm, best = best_schedule(module)
        else:
            algorithm, best = self.algorithm, scheduled(module, self.algorithm)
        root = module.entry.root
        return best if log.rewrite(algorithm, root, best.entry.root) else module


def best_schedule(module: Module) -> tuple[str, Module]:
    """The algorithm whose order needs least memory, and the module in that order.

    Orders in which the same kernels run in the same order need the same bytes, and fewer than none
    cannot be needed.
    """
    flow = Dataflow(module)
    graphs = [DependencyGraph(computation, flow) for computation in flow.timeline.first]
    best: tuple[int, str, Module] | None = None
    known: set[tuple[str, ...]] = set()
    for name in (*ORDERS, "as-written"):
        candidate = as_scheduled(module) if name not in ORDERS else in_order(module, graphs, name)
        kernels = tuple(_kernels(candidate, graphs))
        if kernels in known:
            continue
        known.add(kernels)
        needed = peak_bytes(candidate, flow if candidate.entry is module.entry else None)
        if best is None or needed < best[0]:
            best = needed, name, candidate
        if not needed:
            break
    assert best is not None
    return best[1:]


def _kernels(module: Module, graphs: Sequence[DependencyGraph]) -> Iterator[str]:
    """The kernels that read or make values, in the order in which they run."""
    touching = {i.name for g in graphs for i in g.instructions if g.reads[i] or g.makes[i]}
    homes = {g.computation.name for g in graphs}
    for computation in module.computations:
        if computation.name in homes:
            yield from (i.name for i in computation.instructions if i.name in touching)


def scheduled(module: Module, algorithm: str) -> Module:
    """A module in the order of an algorithm."""
    flow = Dataflow(module)
    graphs = [DependencyGraph(computation, flow) for computation in flow.timeline.first]
    return in_order(module, graphs, algorithm)


def in_order(module: Module, graphs: Sequence[DependencyGraph], algorithm: str) -> Module:
    """A module in the order of an algorithm; the graphs are of its sequential computations."""
    order = ORDERS[algorithm]
    of = {graph.computation.name: graph for graph in graphs}

    def change(computation: Computation) -> Computation:
        graph = of.get(computation.name)
        if graph is None:
            return computation
        # Instructions whose callees were changed are others now, but have their names.
        became = {i.name: i for i in computation.instructions}
        instructions = tuple([became[i.name] for i in order(graph)])
        if instructions == computation.instructions:
            return computation
        return replace(computation, instructions=instructions)

    return as_scheduled(rebuild_module(module, change))


def as_scheduled(module: Module) -> Module:
    """A module whose instructions run in the order in which they appear."""
    return replace(module, header=replace(module.header, is_scheduled=True))


def peak_bytes(module: Module, flow: Dataflow | None = None) -> int:
    """Bytes for temporary arrays, and for copies, that no schedule of memory can do without.

    At the worst moment, what does not fit where the module's results will be; and all arrays that
    are larger than any result.

    Parameters
    ----------
    module : each of its sequential computations has one caller.
    flow : of the same computations, if it is known.
    """
    _, buffers = copied(module, DEFAULT, Log(), flow)
    changing = [b for b in as_few_as_may_be(buffers) if not b.fixed]
    room = [b.bytes for b in changing if b.output]
    large = [block(b) for b in changing if not b.output and b.bytes > max(room, default=0)]
    return max(peak(large), peak([block(b) for b in changing]) - sum(room))
