"""Shardings of arrays over devices: shardings of values, and groups of devices in collectives.

Three generations of text exist side by side: lists of device numbers (V1), an iota that is
reshaped and transposed (V2: `[2,4]<=[4,2]T(1,0)`), and named axes of a mesh (V3). All are kept as
they are written; `device_array` and `groups` say what they mean.

Sources: XLA's `hlo_sharding.h`, `tile_assignment.h`, `replica_group.h`; the Shardy dialect.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# More than any machine has: device lists are written out in memory.
MAX_DEVICES = 2**20


@dataclass(frozen=True, slots=True)
class TileAssignment:
    """An array of device numbers, as a list or as a transposed iota.

    Attributes
    ----------
    dims : its shape.
    devices : the numbers, row-major (V1); None where the iota form is used.
    reshape, transpose : V2: arange(prod(dims)) reshaped, transposed, reshaped to dims.
    """

    dims: tuple[int, ...]
    devices: tuple[int, ...] | None = None
    reshape: tuple[int, ...] = ()
    transpose: tuple[int, ...] = ()

    def device_array(self) -> NDArray[np.int64]:
        """The device numbers, in shape `dims`."""
        if self.devices is not None:
            return np.array(self.devices, np.int64).reshape(self.dims)
        iota = np.arange(prod(self.reshape)).reshape(self.reshape)
        return iota.transpose(self.transpose or range(len(self.reshape))).reshape(self.dims)

    def transposed(self, axes: tuple[int, ...]) -> TileAssignment:
        """The same devices with the dimensions in another order; an iota stays one if it can."""
        dims = tuple(self.dims[axis] for axis in axes)
        if self.devices is None and (factors := self._factors()):
            # Each dimension is a run of the iota's (split) dimensions: move the runs.
            sizes, order, runs = factors
            moved = tuple(order[i] for axis in axes for i in runs[axis])
            return TileAssignment(dims, None, *canonical_iota(sizes, moved))
        moved_devices = self.device_array().transpose(axes).reshape(-1)
        return TileAssignment(dims, tuple(int(d) for d in moved_devices))

    def with_rising_rows(self) -> TileAssignment | None:
        """An iota whose last dimension holds the same devices in rising order, if there is one."""
        factors = self._factors()
        if factors is None:
            return None
        sizes, order, runs = factors
        before = order[: len(order) - len(runs[-1])]
        last = sorted(order[len(before) :])
        return TileAssignment(self.dims, None, *canonical_iota(sizes, (*before, *last)))

    def _factors(self) -> tuple[tuple[int, ...], tuple[int, ...], list[list[int]]] | None:
        """The iota's dimensions split so finely that each tile dimension is a run of them.

        Returns their sizes, their transposition, and for each tile dimension the positions in the
        transposition that it covers; None if the sizes do not divide.
        """
        order = self.transpose or tuple(range(len(self.reshape)))
        pieces: list[tuple[int, int]] = []  # (dimension of the iota, size), in transposed order
        runs: list[list[int]] = []
        rest = [[axis, self.reshape[axis]] for axis in order]
        for whole in self.dims:
            run: list[int] = []
            size = whole
            while size > 1:
                while rest and rest[0][1] == 1:
                    rest.pop(0)
                axis, left = rest[0]
                part = gcd(size, left) if size % left else left
                if left % part or size % part or part == 1 or (part != left and part != size):
                    return None
                # The first part split off is the major one: the rest stays after it.
                run.append(len(pieces))
                pieces.append((axis, part))
                rest[0][1] = left // part
                size //= part
            runs.append(run)
        by_axis = sorted(range(len(pieces)), key=lambda i: (pieces[i][0], i))
        rank = {piece: position for position, piece in enumerate(by_axis)}
        sizes = tuple(pieces[i][1] for i in by_axis)
        return sizes, tuple(rank[i] for i in range(len(pieces))), runs


def canonical_iota(
    reshape: tuple[int, ...], transpose: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The same iota with fewest dimensions.

    Those of size 1 are dropped, and those that stay together are joined.

    Returns
    -------
    tuple
        the sizes and their transposition, () where there is none.
    """
    order = [axis for axis in transpose or range(len(reshape)) if reshape[axis] > 1]
    runs: list[list[int]] = []
    rank = {axis: i for i, axis in enumerate(sorted(order))}
    for axis in order:
        if runs and rank[axis] == rank[runs[-1][-1]] + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    if not runs:
        return (prod(reshape),), ()
    by_axis = sorted(range(len(runs)), key=lambda i: runs[i][0])
    sizes = tuple(prod(reshape[axis] for axis in runs[i]) for i in by_axis)
    moved = tuple(by_axis.index(i) for i in range(len(runs)))
    return sizes, moved if len(moved) > 1 else ()


def iota_of(dims: tuple[int, ...], devices: NDArray[np.int64]) -> TileAssignment | None:
    """The iota form of a row-major list of devices; None if there is none.

    From the last one on, devices of an iota are runs of equal steps.
    """
    sizes: list[tuple[int, int]] = []  # (step, length) of each run, innermost first
    block = np.asarray(devices)
    if block[0] != 0 or sorted(block) != list(range(block.size)):
        return None
    while block.size > 1:
        step = int(block[1] - block[0])
        length = 2
        while length < block.size and block[length] - block[length - 1] == step:
            length += 1
        while block.size % length:
            length -= 1
        rows = block.reshape(-1, length)
        if length < 2 or (np.diff(rows, axis=1) != step).any():
            return None
        sizes.append((step, length))
        block = rows[:, 0]
    sizes.reverse()
    by_step = sorted(range(len(sizes)), key=lambda i: -sizes[i][0])
    reshape = tuple(sizes[i][1] for i in by_step)
    transpose = tuple(by_step.index(i) for i in range(len(sizes)))
    tiles = TileAssignment(dims, None, *canonical_iota(reshape, transpose))
    return tiles if np.array_equal(tiles.device_array().reshape(-1), devices) else None


@dataclass(frozen=True, slots=True)
class SubAxis:
    """A mesh axis, or part of one: `"a"`, or `"a":(pre_size)size`."""

    name: str
    pre_size: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Mesh:
    """Named axes over the devices; `devices` None means 0, 1, 2, ... in row-major order."""

    axes: tuple[tuple[str, int], ...]
    devices: TileAssignment | None = None
    maximal_device: int | None = None


@dataclass(frozen=True, slots=True)
class NamedDim:
    """The split of one dimension over mesh axes; `open` dimensions may be split further."""

    axes: tuple[SubAxis, ...] = ()
    open: bool = False


@dataclass(frozen=True, slots=True)
class NamedSharding:
    """A sharding by mesh axes (V3)."""

    mesh: Mesh
    dims: tuple[NamedDim, ...] = ()
    replicated: tuple[SubAxis, ...] = ()
    unreduced: tuple[SubAxis, ...] = ()
    unreduced_kind: str = ""
    manual: tuple[SubAxis, ...] = ()
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class Sharding:
    """The distribution of a value over devices.

    Attributes
    ----------
    kind : "replicated", "maximal", "manual", "unknown", "unreduced", "tiled", "tuple" or "named".
    tiles : for "tiled".
    device : for "maximal".
    replicate_last : the last tile dimension holds copies (`last_tile_dim_replicate`).
    last_tile_dims : kinds of the trailing tile dimensions, such as ("manual", "replicated").
    elements : for "tuple".
    named : for "named".
    group : ("shard_as", 3) or ("shard_like", 1).
    metadata : kept as written.
    """

    kind: str
    tiles: TileAssignment | None = None
    device: int = 0
    replicate_last: bool = False
    last_tile_dims: tuple[str, ...] = ()
    elements: tuple[Sharding, ...] = ()
    named: NamedSharding | None = None
    group: tuple[str, int] | None = None
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class ReplicaGroups:
    """The groups of devices among which a collective works.

    Attributes
    ----------
    lists : V1: the groups; () stands for one group of all.
    tiles : V2: a matrix with a row a group.
    mesh, axes : V3: devices that differ only along these axes form a group.
    """

    lists: tuple[tuple[int, ...], ...] = ()
    tiles: TileAssignment | None = None
    mesh: Mesh | None = None
    axes: tuple[SubAxis, ...] = ()

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The groups as lists of device numbers; () stands for one group of all."""
        if self.tiles is not None:
            return tuple(tuple(int(d) for d in row) for row in self.tiles.device_array())
        if self.mesh is not None:
            return _mesh_groups(self.mesh, self.axes)
        return self.lists


def _mesh_groups(mesh: Mesh, axes: tuple[SubAxis, ...]) -> tuple[tuple[int, ...], ...]:
    """Split each axis into (before, part, after), and gather the parts that vary in a group."""
    wanted = {axis.name: axis for axis in axes}
    sizes: list[int] = []
    varying: dict[str, int] = {}
    for name, size in mesh.axes:
        axis = wanted.get(name)
        if axis is None:
            sizes.append(size)
            continue
        before, part = (axis.pre_size, axis.size) if axis.size else (1, size)
        varying[name] = len(sizes) + 1
        sizes += [before, part, size // (before * part)]
    total = prod(sizes)
    devices = mesh.devices.device_array().reshape(-1) if mesh.devices else np.arange(total)
    grid = devices.reshape(sizes)
    inner = [varying[axis.name] for axis in axes]
    outer = [i for i in range(len(sizes)) if i not in inner]
    count = prod(sizes[i] for i in inner)
    table = grid.transpose(outer + inner).reshape(-1, count)
    return tuple(tuple(int(d) for d in row) for row in table)
