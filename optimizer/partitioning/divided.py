"""A module divided among devices, for whoever calls it with the arguments of some devices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.sharded import reshardings
from optimizer.log import Log
from optimizer.partitioning.spmd_partitioning import SpmdPartitioning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Module


class DividedModule:
    """A module after the partitioner, for as many replicas as it is called with.

    Attributes
    ----------
    module : the divided one.
    """

    def __init__(self, module: Module) -> None:
        # Where calls cut and join arrays, partitions are given the same ones.
        self._is_whole = bool(reshardings(module))
        self.module = SpmdPartitioning().run(module, Log())

    def for_replicas(self, count: int) -> Module:
        """The module for a number of replicas."""
        return replace(self.module, header=replace(self.module.header, replica_count=count))

    def dealt(self, per_device: Sequence[Sequence[Any]]) -> tuple[list[Sequence[Any]], int]:
        """The arguments of each device, and the number of replicas that they make."""
        partitions = self.module.header.num_partitions
        arguments = list(per_device) * (partitions if self._is_whole else 1)
        return arguments, max(len(arguments) // partitions, 1)
