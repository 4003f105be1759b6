"""Groups of devices that work together in a collective: from `replica_groups` to device numbers.

Devices form a grid of replicas and partitions. What the numbers in a group mean depends on two
attributes:

| channel_id | use_global_device_ids | numbers are | a group works together |
| --- | --- | --- | --- |
| no | no | replicas | within one partition |
| yes | no (all-reduce, all-gather, reduce-scatter) | replicas | across all partitions |
| yes | no (the other collectives) | partitions | within one replica |
| yes | yes | replica * partitions + partition | as it is |

Source: `GetCollectiveOpGroupMode` and `GetParticipatingDevices` in XLA's `collective_ops_utils`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import AllGather, AllReduce, ReduceScatter
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from hlo.attributes import Collective, CollectivePermute
    from hlo.instruction import Instruction, Module
    from interpreter.engine.device import Device


def group_of(device: Device, instr: Instruction, attrs: Collective) -> tuple[int, ...]:
    """The numbers of the devices that a device works with in a collective, itself among them.

    Raises
    ------
    HloError
        HLO119 if it is in no group, or if a group names a device that does not exist.
    """
    group = find_group(device, instr, attrs)
    if not group:
        message = f"{instr.name}: device {device.number} is in no group"
        raise HloError("HLO119", message, instr.span)
    return group


def find_group(device: Device, instr: Instruction, attrs: Collective) -> tuple[int, ...]:
    """The group of a device; () if it is in none.

    Raises
    ------
    HloError
        HLO119 if a group names a device that does not exist.
    """
    grid = device.lockstep
    written = attrs.replica_groups.groups()
    has_channel = attrs.channel_id is not None
    if getattr(attrs, "use_global_device_ids", False):
        groups = written or (tuple(range(grid.devices)),)
        members = _own_group(groups, device.number, grid.devices, instr)
    elif not has_channel:
        groups = written or (tuple(range(grid.replicas)),)
        replicas = _own_group(groups, device.replica, grid.replicas, instr)
        members = tuple(r * grid.partitions + device.partition for r in replicas)
    elif isinstance(attrs, AllReduce | AllGather | ReduceScatter):
        groups = written or (tuple(range(grid.replicas)),)
        replicas = _own_group(groups, device.replica, grid.replicas, instr)
        partitions = range(grid.partitions)
        members = tuple(r * grid.partitions + p for r in replicas for p in partitions)
    else:
        groups = written or (tuple(range(grid.partitions)),)
        partners = _own_group(groups, device.partition, grid.partitions, instr)
        members = tuple(device.replica * grid.partitions + p for p in partners)
    return members


def permute_pairs(device: Device, attrs: CollectivePermute) -> tuple[tuple[int, int], ...]:
    """The source-target pairs among a device's partners, as device numbers.

    They number the partitions of a replica if there is a channel, and else the replicas. XLA
    leaves out a pair that names what does not exist, and so does this.
    """
    grid = device.lockstep
    if attrs.channel_id is not None:
        first, step, count = device.replica * grid.partitions, 1, grid.partitions
    else:
        first, step, count = device.partition, grid.partitions, grid.replicas
    return _pairs(attrs, first, step, count)


def device_pairs(
    attrs: CollectivePermute, replicas: int, partitions: int
) -> tuple[tuple[int, int], ...]:
    """The pairs of source and target of a collective-permute, of all devices."""
    if attrs.channel_id is not None:
        rows = [_pairs(attrs, r * partitions, 1, partitions) for r in range(replicas)]
    else:
        rows = [_pairs(attrs, p, partitions, replicas) for p in range(partitions)]
    return tuple(pair for row in rows for pair in row)


def _pairs(
    attrs: CollectivePermute, first: int, step: int, count: int
) -> tuple[tuple[int, int], ...]:
    return tuple(
        (first + step * source, first + step * target)
        for source, target in attrs.source_target_pairs
        if source < count and target < count
    )


def device_groups(
    instr: Instruction, attrs: Collective, replicas: int, partitions: int
) -> tuple[tuple[int, ...], ...]:
    """The groups of all devices that work together in a collective, as device numbers.

    Raises
    ------
    HloError
        HLO119 if a group names a device that does not exist.
    """
    written = attrs.replica_groups.groups()
    grid = [range(r * partitions, (r + 1) * partitions) for r in range(replicas)]

    def of(count: int) -> tuple[tuple[int, ...], ...]:
        for group in written:
            _expect_existing(group, count, instr)
        return written or (tuple(range(count)),)

    if getattr(attrs, "use_global_device_ids", False):
        return of(replicas * partitions)
    if attrs.channel_id is None:
        return tuple(tuple(grid[r][p] for r in g) for g in of(replicas) for p in range(partitions))
    if isinstance(attrs, AllReduce | AllGather | ReduceScatter):
        return tuple(tuple(device for r in g for device in grid[r]) for g in of(replicas))
    return tuple(tuple(row[p] for p in g) for row in grid for g in of(partitions))


def devices_named(module: Module) -> int:
    """The number of devices that a module needs for its collectives to name none that is missing.

    It says less than the header: without groups, all devices work together, however many.
    """
    named = [0]
    for instr in module.instructions():
        if "collective" in instr.row.traits:
            groups = getattr(instr.attrs, "replica_groups", None)
            lists = groups.groups() if groups else ()
            lists += getattr(instr.attrs, "source_target_pairs", ())
            named += [device for row in lists for device in row]
    return max(named) + 1


def _own_group(
    groups: tuple[tuple[int, ...], ...], me: int, count: int, instr: Instruction
) -> tuple[int, ...]:
    group = next((group for group in groups if me in group), ())
    _expect_existing(group, count, instr)
    return group


def _expect_existing(group: tuple[int, ...], count: int, instr: Instruction) -> None:
    missing = [n for n in group if not 0 <= n < count]
    if missing:
        raise HloError(
            "HLO119",
            f"{instr.name}: a group names number {missing[0]}, and there are only {count}",
            instr.span,
            ["`evaluate(module, per_device=[...])` runs a module on several devices"],
        )
