"""Instructions by which a device takes its part of an array, or gathers those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlo.types.element_type import S32, U32
from hlo.types.shape import array
from hlo.types.sharding import ReplicaGroups
from optimizer.expanders.parts import to_dims
from optimizer.rewriting.make import constant, make, splat

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.instruction import Computation, Instruction
    from hlo.sharded import Shards
    from hlo.types.shape import Shape

    Groups = tuple[tuple[int, ...], ...]


def part_of(whole: Instruction, parts: Shards) -> Instruction:
    """The part that this device holds: a slice, whose start it looks up by its own number."""
    if parts.is_whole:
        return whole
    sizes = [size // count for size, count in zip(whole.shape.dims, parts.counts, strict=True)]
    starts = [
        _looked_up(parts.places[:, dim] * size) if count > 1 else splat(0, array(S32))
        for dim, (count, size) in enumerate(zip(parts.counts, sizes, strict=True))
    ]
    return make("dynamic-slice", whole, *starts, dynamic_slice_sizes=tuple(sizes))


def _looked_up(table: NDArray[np.int64]) -> Instruction:
    """The number that a table has for this partition, s32 of shape ()."""
    numbers = constant(table.astype(np.int32))
    device = make("partition-id", shape=array(U32))
    return to_dims(make("dynamic-slice", numbers, device, dynamic_slice_sizes=(1,)), ())


def gathered(part: Instruction, parts: Shards, channel: int, grid: tuple[int, int]) -> Instruction:
    """The whole array: the parts of a group's devices, gathered and put in their places.

    Parameters
    ----------
    channel : of the collective.
    grid : replicas and partitions.
    """
    if parts.is_whole:
        return part
    groups = _in_each_replica(parts.groups, grid)
    dims, counts = part.shape.dims, parts.counts
    cut = [dim for dim, count in enumerate(counts) if count > 1]
    if len(cut) == 1:
        sizes = tuple(count * size for count, size in zip(counts, dims, strict=True))
        return _gather(part, part.shape.with_dims(sizes), cut[0], groups, channel)
    kind = part.shape.element_type
    rows = to_dims(part, (1, *dims))
    rows = _gather(rows, array(kind, (len(parts.groups[0]), *dims)), 0, groups, channel)
    order = tuple(axis for dim in range(len(dims)) for axis in (dim, len(dims) + dim))
    apart = make("transpose", to_dims(rows, (*counts, *dims)), dimensions=order)
    return to_dims(apart, tuple(c * size for c, size in zip(counts, dims, strict=True)))


def folded(
    part: Instruction,
    groups: Groups,
    computation: Computation,
    channel: int,
    grid: tuple[int, int],
) -> Instruction:
    """The parts of each group's devices, folded by a computation.

    Parameters
    ----------
    groups : of partitions.
    channel, grid : as of `gathered`.
    """
    return make(
        "all-reduce",
        part,
        called=(computation,),
        replica_groups=ReplicaGroups(_in_each_replica(groups, grid)),
        channel_id=channel,
        use_global_device_ids=True,
    )


def _in_each_replica(groups: Groups, grid: tuple[int, int]) -> Groups:
    """The devices of groups of partitions."""
    replicas, partitions = grid
    return tuple(
        tuple(replica * partitions + partition for partition in group)
        for replica in range(replicas)
        for group in groups
    )


def _gather(
    part: Instruction,
    shape: Shape,
    dimension: int,
    groups: Groups,
    channel: int,
) -> Instruction:
    return make(
        "all-gather",
        part,
        shape=shape,
        dimensions=(dimension,),
        replica_groups=ReplicaGroups(groups),
        channel_id=channel,
        use_global_device_ids=True,
    )
