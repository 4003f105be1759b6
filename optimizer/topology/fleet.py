"""Devices that run one program together: the time of each instruction, and of the program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.opcode import SEQUENTIAL
from interpreter.groups import devices_named
from optimizer.analysis.runs import trips
from optimizer.gpu.device import A100, DeviceRates, seconds
from optimizer.gpu.timeline import simulate
from optimizer.topology.links import Topology, topology_of
from optimizer.topology.rounds import collective_of, collective_time

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.topology.rounds import CollectiveTime, Grid


@dataclass(frozen=True)
class Fleet:
    """Devices of one kind, and their links.

    Attributes
    ----------
    grid : the numbers of replicas and of partitions.
    """

    device: DeviceRates
    topology: Topology
    grid: Grid
    _known: dict[object, CollectiveTime] = field(
        default_factory=dict[object, "CollectiveTime"], repr=False, compare=False
    )

    def collective(self, instr: Instruction) -> CollectiveTime | None:
        """The time of a collective, and its algorithm; None for another instruction."""
        inner = collective_of(instr)
        if inner is None:
            return None
        key = (inner.opcode, inner.attrs, tuple(o.shape for o in inner.operands))
        if key not in self._known:
            self._known[key] = collective_time(inner, self.grid, self.topology)
        return self._known[key]

    def seconds(self, instr: Instruction) -> float:
        """The time of an instruction: a loop's is that of all its iterations."""
        found = self.collective(instr)
        if found is not None:
            return found.seconds
        if instr.opcode not in SEQUENTIAL or not instr.called:
            return seconds(instr, self.device)
        inside = [self.total(called) for called in instr.called]
        if instr.opcode == "while":
            return trips(instr) * sum(inside)
        return max(inside) if instr.opcode == "conditional" else sum(inside)

    def total(self, computation: Computation) -> float:
        """The time of a computation from its first instruction to the end of its last one."""
        spans = simulate(computation.instructions, self.device, self.seconds)
        return max((span.end for span in spans), default=0.0)


def fleet_of(
    module: Module,
    topology: str | None = None,
    bandwidth: float | None = None,
    latency: float | None = None,
) -> Fleet:
    """The devices that run a module, one switch between them if no topology is named.

    Parameters
    ----------
    bandwidth, latency : of each link; those of an A100's own network if None.

    Raises
    ------
    HloError
        HLO204 for a topology of another number of devices; HLO119 if a collective names a device
        that the module does not have.
    """
    grid = grid_of(module)
    count = grid[0] * grid[1]
    found = topology_of(
        topology or f"tree:{count}", count,
        A100.network if bandwidth is None else bandwidth,
        A100.message / 2 if latency is None else latency,
    )  # fmt: skip
    return Fleet(A100, found, grid)


def grid_of(module: Module) -> Grid:
    """The numbers of replicas and of partitions; those that collectives name if it says none.

    Raises
    ------
    HloError
        HLO119 if a collective names a device that the module does not have.
    """
    replicas, partitions = module.header.replica_count, module.header.num_partitions
    named = devices_named(module)
    if replicas * partitions == 1 and named > 1:
        channels = (getattr(i.attrs, "channel_id", None) for i in module.instructions())
        return (1, named) if any(n is not None for n in channels) else (named, 1)
    if named > replicas * partitions:
        message = f"a collective names device {named - 1} of {replicas * partitions}"
        raise HloError("HLO119", message)
    return replicas, partitions
