"""A sum of which each device takes its own part is exchanged in parts.

    sum = f32[8] all-reduce(x), replica_groups={{0,1}}         =>  part = f32[4] reduce-scatter(x)
    part = f32[4] dynamic-slice(sum, start of this device)

The start is looked up by the device's number in a constant table, as `spmd-partitioning` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.effects import without_named
from hlo.types.sharding import ReplicaGroups
from hlo.walk import names_of, rebuild, rebuild_module, users
from optimizer.passes import register
from optimizer.rewriting.adopting import adopted, in_place_of
from optimizer.rewriting.make import make, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log

    Groups = tuple[tuple[int, ...], ...]


@register
@dataclass(frozen=True)
class ReduceScatterCreator:
    """Replaces all-reduces of which each device takes one part by reduce-scatters."""

    name = "reduce-scatter-creator"
    xla = "xla/service/reduce_scatter_creator.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with fewer elements exchanged."""
        header, names = module.header, names_of(module)
        if header.replica_count > 1:
            return module

        def changed(computation: Computation) -> Computation:
            plan: dict[Instruction, Instruction] = {}
            gone: set[str] = set()
            if not computation.opcodes >= {"all-reduce", "dynamic-slice"}:
                return computation
            users_of, there = users(computation), frozenset(computation.instructions)
            for instr in computation.instructions:
                if instr.opcode != "dynamic-slice" or instr.operands[0].opcode != "all-reduce":
                    continue
                summed = instr.operands[0]
                if users_of[summed] != [instr] or summed is computation.root:
                    continue
                reduced = scattered(instr, header.num_partitions)
                if reduced:
                    new = adopted(in_place_of(reduced, instr), instr, there, names)
                    if log.rewrite("scatter", instr, *new):
                        plan[instr] = new[-1]
                        gone.add(summed.name)
            return without_named(rebuild(computation, plan), gone)

        return rebuild_module(module, changed)


def scattered(instr: Instruction, devices: int) -> Instruction | None:
    """The reduce-scatter that a slice of an all-reduce is; None if it is none."""
    summed, *starts = instr.operands
    attrs, (x, *others) = a.AllReduce.of(summed), summed.operands
    before, after = summed.shape.dims, instr.shape.dims
    cut = [d for d in range(len(before)) if before[d] != after[d]]
    groups = attrs.replica_groups.groups() or (tuple(range(devices)),)
    if others or len(cut) != 1 or len(starts) != len(before) or not attrs.channel_id:
        return None
    numbers, size = numbers_of(starts[cut[0]], devices), after[cut[0]]
    if numbers is None or not attrs.use_global_device_ids:
        return None
    order = tuple(tuple(sorted(group, key=numbers.__getitem__)) for group in groups)
    for group in order:
        parts = [numbers[device] for device in group]
        if parts != list(range(0, before[cut[0]], size)):
            return None
    return make(
        "reduce-scatter", x, shape=instr.shape, dimensions=(cut[0],), called=summed.called,
        replica_groups=ReplicaGroups(order), channel_id=attrs.channel_id,
        use_global_device_ids=True,
    )  # fmt: skip


def numbers_of(instr: Instruction, devices: int) -> Sequence[int] | None:
    """The integer that each device has for a scalar; None if that is not known."""
    while instr.opcode in ("convert", "reshape"):
        (instr,) = instr.operands
    value = value_of(instr)
    if value is not None and value.size == 1:
        return [int(value.reshape(()))] * devices
    if instr.opcode != "dynamic-slice" or len(instr.operands) != 2 or instr.shape.dims != (1,):
        return None
    table, place = value_of(instr.operands[0]), instr.operands[1]
    while place.opcode == "convert":
        (place,) = place.operands
    if table is None or place.opcode != "partition-id":
        return None
    return [int(table[min(device, table.size - 1)]) for device in range(devices)]
