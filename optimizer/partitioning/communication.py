"""Instructions by which a device takes its part of an array, or is given those of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hlo.monoid import MONOIDS
from hlo.types.element_type import U32
from hlo.types.shape import array
from hlo.types.sharding import ReplicaGroups
from optimizer.expanders.op_expander import ExpansionSite
from optimizer.expanders.parts import cut as slice_of
from optimizer.expanders.parts import joined, number, padded, permuted, spread, to_dims
from optimizer.partitioning.cuts import groups_along, rest, split
from optimizer.rewriting.make import constant, make, splat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Computation, Instruction
    from hlo.names import NameSupply
    from hlo.types.element_type import ElementType
    from optimizer.partitioning.cuts import ArrayCut, CutAxis, Groups
    from optimizer.partitioning.exchange import Exchange


def looked_up(table: Sequence[int]) -> Instruction:
    """The number that a table has for this partition, s32 of shape ()."""
    if len(set(table)) == 1:
        return number(table[0])
    numbers = constant(np.array(table, np.int32))
    device = make("partition-id", shape=array(U32))
    return to_dims(make("dynamic-slice", numbers, device, dynamic_slice_sizes=(1,)), ())


def part_of(whole: Instruction, axes: Sequence[CutAxis | None]) -> Instruction:
    """The part that this device holds: a slice, whose start it looks up by its own number."""
    sizes = list(whole.shape.dims)
    for dim, axis in enumerate(axes):
        if axis:
            sizes[dim] = -(-sizes[dim] // axis.count)
            whole = filled_up(whole, dim, axis.count * sizes[dim])
    if not any(axes):
        return whole
    starts = [
        looked_up([place * size for place in axis.places]) if axis else number(0)
        for axis, size in zip(axes, sizes, strict=True)
    ]
    return make("dynamic-slice", whole, *starts, dynamic_slice_sizes=tuple(sizes))


def filled_up(x: Instruction, dim: int, size: int) -> Instruction:
    """A dimension with zeros at its end, up to a size."""
    missing = size - x.shape.dims[dim]
    return padded(x, splat(0, array(x.shape.element_type)), dim, 0, missing) if missing else x


def shortened(x: Instruction, dim: int, size: int) -> Instruction:
    """A dimension without its end."""
    return slice_of(x, dim, 0, size) if x.shape.dims[dim] != size else x


def neutral(element_type: ElementType) -> Instruction:
    """The scalar that leaves others as they are when it is added: -0 for floats."""
    value = MONOIDS["add"].identity(element_type)
    # F8E8M0FNU has none, as it has no zero; a 0 becomes NaN there.
    return number(0 if value is None else value, element_type)


def alone(value: Instruction, axis: CutAxis) -> Instruction:
    """Summands of a value: all of it on the first devices of an axis, nothing on the others."""
    first = looked_up([int(place == 0) for place in axis.places])
    nothing = make("broadcast", neutral(value.shape.element_type), shape=value.shape, dimensions=())
    is_first = spread(make("compare", first, 0, direction="NE"), value.shape.dims)
    return make("select", is_first, value, nothing)


def placed(part: Instruction, dim: int, axis: CutAxis, size: int) -> Instruction:
    """Summands of a value: a device's own block in its place, and nothing in that of others."""
    block = part.shape.dims[dim]
    dims = list(part.shape.dims)
    dims[dim] = block * axis.count
    wide = part.shape.with_dims(tuple(dims))
    nothing = make("broadcast", neutral(wide.element_type), shape=wide, dimensions=())
    starts = [number(0)] * wide.rank
    starts[dim] = looked_up([place * block for place in axis.places])
    return shortened(make("dynamic-update-slice", nothing, part, *starts), dim, size)


@dataclass(frozen=True)
class Network:
    """The collectives of the devices that run a module.

    Attributes
    ----------
    grid : the numbers of replicas and of partitions.
    channels : unused numbers for collectives.
    names : for computations that collectives call.
    """

    grid: tuple[int, int]
    channels: Iterator[int]
    names: NameSupply

    def gathered(
        self, part: Instruction, cut: ArrayCut, dim: int, coarse: CutAxis | None, size: int
    ) -> Instruction:
        """The part whose dimension is cut by a coarser axis, or whole.

        Parameters
        ----------
        size : of this dimension of the result.
        """
        (minor,) = rest(cut.dims[dim], coarse) or (None,)
        assert minor, "a coarser axis"
        groups = groups_along(_others(cut, dim, coarse), (minor,))
        dims = list(part.shape.dims)
        dims[dim] *= minor.count
        gathered = make(
            "all-gather", part, shape=part.shape.with_dims(tuple(dims), part.shape.dynamic),
            dimensions=(dim,),
            replica_groups=self._groups(groups), channel_id=next(self.channels),
            use_global_device_ids=True,
        )  # fmt: skip
        return shortened(gathered, dim, size)

    def turned(
        self,
        part: Instruction,
        cut: ArrayCut,
        dims: tuple[int, int],
        axis: CutAxis,
        sizes: Sequence[int],
    ) -> Instruction:
        """The part after the minor axis of one dimension has moved to another one.

        Parameters
        ----------
        dims : from where, and to where.
        sizes : of the result.
        """
        source, target = dims
        count = axis.count
        left = _outer(cut, source, axis)
        groups = groups_along(_others(cut, source, left), (axis,))
        part = filled_up(part, target, count * sizes[target])
        before = part.shape.dims
        apart = to_dims(part, (*before[:target], count, sizes[target], *before[target + 1 :]))
        order = [target, *(d for d in range(len(before) + 1) if d != target)]
        sent = permuted(apart, order)
        exchanged = make(
            "all-to-all", sent, shape=sent.shape, dimensions=(0,),
            replica_groups=self._groups(groups), channel_id=next(self.channels),
        )  # fmt: skip
        # The senders, in order, hold consecutive blocks of the source dimension.
        back = [*range(1, source + 1), 0, *range(source + 1, len(before) + 1)]
        received = permuted(exchanged, back)
        dims_now = list(received.shape.dims)
        merged = (*dims_now[:source], count * dims_now[source + 1], *dims_now[source + 2 :])
        return shortened(to_dims(received, merged), source, sizes[source])

    def permuted(self, part: Instruction, pairs: Groups) -> Instruction:
        """The parts of other devices, by pairs of source and target."""
        return make(
            "collective-permute", part, source_target_pairs=pairs, channel_id=next(self.channels)
        )

    def permuted_blocks(self, part: Instruction, rounds: Sequence[Groups]) -> Instruction:
        """The parts of other devices, which send once in each round."""
        received = [self.permuted(part, pairs) for pairs in rounds] or [part]
        result = received[0]
        for other, pairs in zip(received[1:], rounds[1:], strict=True):
            result = make("select", self._is_target(pairs, result), other, result)
        return result

    def folded(
        self,
        part: Instruction,
        fixed: tuple[CutAxis, ...],
        varying: tuple[CutAxis, ...],
        computation: Computation,
    ) -> Instruction:
        """The values of each group's devices folded by a computation.

        Parameters
        ----------
        fixed, varying : the devices of a group are at the same place of the former, and at all
            places of the latter.
        """
        return make(
            "all-reduce", part, called=(computation,),
            replica_groups=self._groups(groups_along(fixed, varying)),
            channel_id=next(self.channels), use_global_device_ids=True,
        )  # fmt: skip

    def added(self, part: Instruction, cut: ArrayCut) -> Instruction:
        """The sums of summands that devices hold in some cut."""
        assert cut.summed, "summands"
        add = ExpansionSite(part, self.names).binary("add", part.shape.element_type)
        fixed = tuple(axis for axis in (*cut.dims, *cut.manual) if axis)
        return self.folded(part, fixed, (cut.summed,), add)

    def stacked(
        self, part: Instruction, fixed: tuple[CutAxis, ...], varying: tuple[CutAxis, ...]
    ) -> Instruction:
        """The values of each group's devices, along a new first dimension."""
        groups = groups_along(fixed, varying)
        row = to_dims(part, (1, *part.shape.dims))
        return make(
            "all-gather", row, shape=row.shape.with_dims((len(groups[0]), *part.shape.dims)),
            dimensions=(0,), replica_groups=self._groups(groups), channel_id=next(self.channels),
            use_global_device_ids=True,
        )  # fmt: skip

    def exchanged(self, part: Instruction, dim: int, plan: Exchange) -> Instruction:
        """The window of a dimension that an exchange brings to each device."""
        pieces: list[Instruction] = []
        for piece in plan.pieces:
            own = slice_of(part, dim, piece.start, piece.limit)
            if piece.start == 0 and piece.limit == part.shape.dims[dim]:
                own = part
            pieces.append(self.permuted_blocks(own, piece.rounds))
        window = joined(pieces, dim)
        if len(set(plan.offsets)) == 1:
            start = plan.offsets[0]
            if start == 0 and window.shape.dims[dim] == plan.size:
                return window
            return slice_of(window, dim, start, start + plan.size)
        starts = [number(0)] * window.shape.rank
        starts[dim] = looked_up(plan.offsets)
        sizes = list(window.shape.dims)
        sizes[dim] = plan.size
        return make("dynamic-slice", window, *starts, dynamic_slice_sizes=tuple(sizes))

    def _is_target(self, pairs: Groups, like: Instruction) -> Instruction:
        """Whether this device is the target of a pair, everywhere in a shape."""
        targets = {target for _, target in pairs}
        flag = looked_up([int(device in targets) for device in range(self.grid[1])])
        return spread(make("compare", flag, 0, direction="NE"), like.shape.dims)

    def _groups(self, groups: Groups) -> ReplicaGroups:
        replicas, partitions = self.grid
        return ReplicaGroups(tuple(
            tuple(replica * partitions + partition for partition in group)
            for replica in range(replicas)
            for group in groups
        ))  # fmt: skip


def _outer(cut: ArrayCut, dim: int, minor: CutAxis) -> CutAxis | None:
    """The axis that a dimension keeps without its minor axis."""
    axis = cut.dims[dim]
    assert axis, "a dimension that is cut"
    return split(axis, minor.count)[0]


def _others(cut: ArrayCut, dim: int, coarse: CutAxis | None) -> tuple[CutAxis, ...]:
    """The axes of all other dimensions, of regions, and of blocks that stay cut."""
    axes = (*(a for d, a in enumerate(cut.dims) if d != dim), *cut.apart, coarse)
    return tuple(axis for axis in axes if axis)
