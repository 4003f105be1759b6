"""Cuts of arrays among devices: which device holds which block of each dimension.

A dimension is cut by an *axis*: a number of blocks, and the one that each device holds. Axes that
cut dimensions of one array must be independent, so that every combination of blocks is held, and
each by as many devices. A mesh of 2 rows and 4 columns has the axes

    rows    = 2, (0, 0, 0, 0, 1, 1, 1, 1)        columns = 4, (0, 1, 2, 3, 0, 1, 2, 3)

and both together cut one dimension into 8 blocks: `combined(rows, columns)`. Blocks have equal
sizes; the last ones may reach past the end of a dimension, where they hold anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo.sharded import shards_of
from hlo.types.sharding import NamedDim, NamedSharding, Sharding, TileAssignment, iota_of
from hlo.types.shardy import devices_of, tiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from hlo.sharded import Shards
    from hlo.types.shape import Shape
    from hlo.types.sharding import Mesh, SubAxis

    Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class CutAxis:
    """A way to cut a dimension.

    Attributes
    ----------
    count : the number of blocks.
    places : the block of each device.
    """

    count: int
    places: tuple[int, ...]

    @property
    def blocks(self) -> frozenset[frozenset[int]]:
        """The devices that hold each block."""
        blocks: dict[int, set[int]] = {}
        for device, place in enumerate(self.places):
            blocks.setdefault(place, set()).add(device)
        return frozenset(map(frozenset, blocks.values()))


@dataclass(frozen=True, slots=True)
class ArrayCut:
    """The parts of an array that devices hold.

    Attributes
    ----------
    dims : the axis that cuts each dimension; None where it is not cut.
    manual : for a value inside of regions that devices run on parts of their own (`shard_map`),
        the axis of each region, outermost first: only devices at the same place there hold parts
        of one value.
    summed : the axis along which devices hold summands that nobody has added up (`unreduced`).
    """

    dims: tuple[CutAxis | None, ...]
    manual: tuple[CutAxis, ...] = ()
    summed: CutAxis | None = None

    @property
    def is_whole(self) -> bool:
        """Whether each device holds all of the array."""
        return not any(self.dims) and self.summed is None

    @property
    def apart(self) -> tuple[CutAxis, ...]:
        """The axes along which devices hold parts of other values: of regions, and of summands."""
        return (*self.manual, self.summed) if self.summed else self.manual

    @property
    def reduced(self) -> ArrayCut:
        """The cut once summands are added up."""
        return replace(self, summed=None) if self.summed else self

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of blocks of each dimension."""
        return tuple(axis.count if axis else 1 for axis in self.dims)

    @property
    def is_possible(self) -> bool:
        """Whether the axes are independent."""
        return _independent((*(a for a in self.dims if a), *self.apart))

    def with_dim(self, dim: int, axis: CutAxis | None) -> ArrayCut:
        """The cut with another axis for a dimension."""
        return replace(self, dims=(*self.dims[:dim], axis, *self.dims[dim + 1 :]))

    def without(self, dims: Sequence[int]) -> ArrayCut:
        """The cut that leaves some dimensions whole."""
        return replace(self, dims=tuple(None if d in dims else a for d, a in enumerate(self.dims)))

    def local(self, whole: Shape) -> Shape:
        """The shape of a part."""
        sizes = zip(whole.dims, self.counts, strict=True)
        return whole.with_dims(tuple(-(-size // count) for size, count in sizes), whole.dynamic)

    def bytes(self, whole: Shape) -> int:
        """The size of a part."""
        return self.local(whole).bytes if whole.is_array else 0

    def is_even(self, whole: Shape) -> bool:
        """Whether no part reaches past the end of the array."""
        return not any(size % n for size, n in zip(whole.dims, self.counts, strict=True))

    def uneven(self, whole: Shape) -> list[int]:
        """The dimensions of which some parts reach past the end."""
        sizes = enumerate(zip(whole.dims, self.counts, strict=True))
        return [dim for dim, (size, n) in sizes if size % n]


def everyone(devices: int) -> CutAxis:
    """The axis of blocks of one device each."""
    return CutAxis(devices, tuple(range(devices)))


def whole(rank: int, manual: tuple[CutAxis, ...] = ()) -> ArrayCut:
    """The cut of an array that each device has whole."""
    return ArrayCut((None,) * rank, manual)


@lru_cache(4096)
def _independent(axes: tuple[CutAxis, ...]) -> bool:
    if not axes:
        return True
    counts = [axis.count for axis in axes]
    if prod(counts) > len(axes[0].places):
        return False
    number = np.ravel_multi_index([np.array(axis.places) for axis in axes], counts)
    held = np.bincount(number, minlength=prod(counts))
    return bool((held == held[0]).all())


@lru_cache(4096)
def combined(major: CutAxis | None, minor: CutAxis | None) -> CutAxis | None:
    """The axis of blocks of blocks."""
    if major is None or minor is None:
        return major or minor
    pairs = zip(major.places, minor.places, strict=True)
    return CutAxis(major.count * minor.count, tuple(m * minor.count + n for m, n in pairs))


@lru_cache(4096)
def split(axis: CutAxis, inner: int) -> tuple[CutAxis | None, CutAxis | None]:
    """The axis of larger blocks, and that of `inner` blocks in each of them."""
    outer = axis.count // inner
    major = CutAxis(outer, tuple(p // inner for p in axis.places)) if outer > 1 else None
    return major, CutAxis(inner, tuple(p % inner for p in axis.places)) if inner > 1 else None


@lru_cache(4096)
def rest(fine: CutAxis | None, coarse: CutAxis | None) -> tuple[CutAxis | None] | None:
    """The axis that cuts blocks of one axis into those of another: in a tuple, None if it doesn't.

    Returns
    -------
    tuple or None
        (None,) if both are the same; None if the fine axis does not cut the blocks of the coarse.
    """
    if coarse is None or fine == coarse:
        return (None,) if fine == coarse else (fine,)
    if fine is None or fine.count % coarse.count:
        return None
    major, minor = split(fine, fine.count // coarse.count)
    return (minor,) if major == coarse else None


def along(cut: ArrayCut, dims: Sequence[int | None]) -> ArrayCut:
    """The cut of an array whose dimension i is dimension dims[i] of another one, or not cut."""
    return replace(cut, dims=tuple(None if d is None else cut.dims[d] for d in dims))


@lru_cache(4096)
def groups_along(fixed: tuple[CutAxis, ...], varying: tuple[CutAxis, ...]) -> Groups:
    """Groups of devices that hold all blocks of some axes, in order, and the same of others.

    Of several devices with the same blocks, the first ones form a group, the second ones another.
    """
    axes = (*fixed, *varying)
    members: dict[tuple[int, ...], list[int]] = {}
    for device in range(len(axes[0].places)):
        members.setdefault(tuple(a.places[device] for a in axes), []).append(device)
    groups: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for key in sorted(members):
        for copy, device in enumerate(members[key]):
            groups.setdefault((key[: len(fixed)], copy), []).append(device)
    return tuple(sorted(tuple(group) for group in groups.values()))


# ----------------------------------------------------------------------- as shardings say it


def cut_of(sharding: Sharding, rank: int) -> ArrayCut | None:
    """The cut that a sharding says; None if it says none of this rank."""
    if sharding.named is not None and sharding.named.unreduced:
        named = replace(sharding.named, unreduced=())
        cut = cut_of(replace(sharding, named=named), rank)
        summed = mesh_axis(sharding.named.unreduced, named.mesh)
        return replace(cut, summed=summed) if cut else None
    kinds = sharding.last_tile_dims
    if sharding.tiles is not None and "unreduced" in kinds:
        cut = cut_of(replace(sharding, last_tile_dims=()), rank)
        summed = _last_axis(sharding.tiles, rank + kinds.index("unreduced"))
        return replace(cut, summed=summed) if cut else None
    shards = shards_of(sharding, rank)
    return None if shards is None else cut_of_shards(shards)


def mesh_axis(axes: Iterable[SubAxis], mesh: Mesh) -> CutAxis:
    """The axis that some axes of a mesh are together, or parts of axes, as the mesh orders them."""
    places = {name: place for place, (name, _) in enumerate(mesh.axes)}
    in_order = tuple(sorted(axes, key=lambda axis: (places[axis.name], axis.pre_size)))
    tiles = tiled(NamedSharding(mesh, (NamedDim(in_order),)), 1).tiles
    return _last_axis(tiles, 0) if tiles else CutAxis(1, (0,) * devices_of(mesh))


def _last_axis(tiles: TileAssignment, dim: int) -> CutAxis:
    array = tiles.device_array()
    places = np.empty(array.size, np.int64)
    places[array] = np.indices(array.shape)[dim]
    return CutAxis(tiles.dims[dim], tuple(int(p) for p in places))


def cut_of_shards(shards: Shards) -> ArrayCut:
    """The cut of an array into some parts."""
    places: NDArray[np.int64] = shards.places
    return ArrayCut(tuple(
        CutAxis(n, tuple(int(p) for p in places[:, d])) if n > 1 else None
        for d, n in enumerate(shards.counts)
    ))  # fmt: skip


def manual_axis_of(sharding: Sharding, rank: int, devices: int) -> CutAxis | None:
    """The axis along which devices run on values of their own; None if they do not."""
    if sharding.kind == "manual":
        return everyone(devices)
    if sharding.tiles is None or "manual" not in sharding.last_tile_dims:
        return None
    return _last_axis(sharding.tiles, rank + sharding.last_tile_dims.index("manual"))


def sharding_of(cut: ArrayCut) -> Sharding:
    """The sharding that makes a cut, in XLA's form."""
    manual = cut.manual[0] if cut.manual else None
    for axis in cut.manual[1:]:
        manual = combined(manual, axis)
    if not any(cut.dims):
        if manual is None and cut.summed is None:
            return Sharding("replicated")
        for kind, axis in (("manual", manual), ("unreduced", cut.summed)):
            if axis and axis.count == len(axis.places):
                return Sharding(kind)
    cutting = tuple(axis for axis in cut.dims if axis)
    said = {"manual": manual, "unreduced": cut.summed}
    others = {kind: axis for kind, axis in said.items() if axis}
    axes = (*cutting, *others.values())
    groups = groups_along((), axes)
    copies = len(groups)
    counts = (*cut.counts, *(axis.count for axis in others.values()))
    devices = np.array(groups).T.reshape(-1)
    dims = (*counts, copies) if copies > 1 else counts
    tiles = iota_of(dims, devices) or TileAssignment(dims, tuple(int(d) for d in devices))
    if not others:
        return Sharding("tiled", tiles, replicate_last=copies > 1)
    kinds = (*others, "replicated") if copies > 1 else tuple(others)
    return Sharding("tiled", tiles, last_tile_dims=kinds)
