"""Brings tiled shardings into the one form in which XLA keeps them.

The last dimensions of a tile assignment may be subgroups: of devices that hold copies
(`replicated`), or that the program itself tells apart (`manual`). One sharding can so be written in
many ways; XLA drops subgroups of one device, merges those of a kind and sorts them, and where the
data itself is not split, the one word says all: `{replicated}`.

Source: `HloSharding::Subgroup` and `HloSharding::PartialTile` in XLA's `hlo_sharding.cc`.
"""

from __future__ import annotations

from math import prod

import numpy as np

from hlo.read.rule_tools import BadValue
from hlo.types.sharding import Sharding, TileAssignment

# In the order in which XLA sorts subgroups; copies come last.
SUBGROUPS = ("maximal", "manual", "unreduced", "replicated")


def with_copies(tiles: TileAssignment) -> Sharding:
    """A sharding whose last tile dimension holds copies."""
    *split, copies = tiles.dims
    if prod(split) == 1:
        return Sharding("replicated")
    if copies == 1:
        return Sharding("tiled", _reshaped(tiles, tuple(split)))
    return Sharding("tiled", _sorted_copies(tiles), replicate_last=True)


def with_subgroups(tiles: TileAssignment, kinds: tuple[str, ...]) -> Sharding:
    """A sharding whose last tile dimensions are subgroups of these kinds."""
    if not kinds:
        return Sharding("tiled", tiles)
    lead = len(tiles.dims) - len(kinds)
    split = tiles.dims[:lead]
    if prod(split) == 1 and len(set(kinds)) == 1 and kinds[0] != "maximal":
        return Sharding(kinds[0])
    # The axes of each kind, but for those of one device.
    axes: dict[str, list[int]] = {kind: [] for kind in SUBGROUPS}
    for axis, kind in enumerate(kinds, lead):
        if tiles.dims[axis] > 1:
            axes[kind].append(axis)
    axes_by_kind = {kind: own for kind, own in axes.items() if own}
    merged = [prod(tiles.dims[axis] for axis in own) for own in axes_by_kind.values()]
    order = [axis for own in axes_by_kind.values() for axis in own]
    if order != sorted(order):
        if tiles.devices is None and prod(tiles.reshape) != prod(tiles.dims):
            raise BadValue("subgroups that are not in order need all devices of the iota")
        dropped = [axis for axis in range(lead, len(tiles.dims)) if axis not in order]
        tiles = tiles.transposed((*range(lead), *order, *dropped))
    return _of_kinds(_reshaped(tiles, (*split, *merged)), tuple(axes_by_kind))


def _of_kinds(tiles: TileAssignment, kinds: tuple[str, ...]) -> Sharding:
    """The sharding of subgroups that are sorted, no two of a kind."""
    split = tiles.dims[: len(tiles.dims) - len(kinds)]
    if kinds == ("replicated",):
        return with_copies(tiles)
    if kinds == ("manual",) and prod(split) == 1:
        return Sharding("manual")
    if kinds[-1:] == ("replicated",):
        tiles = _sorted_copies(tiles)
    return Sharding("tiled", tiles, last_tile_dims=kinds)


def _reshaped(tiles: TileAssignment, dims: tuple[int, ...]) -> TileAssignment:
    return TileAssignment(dims, tiles.devices, tiles.reshape, tiles.transpose)


def _sorted_copies(tiles: TileAssignment) -> TileAssignment:
    """Devices that hold the same copy in rising order; an iota stays one if it can."""
    if tiles.devices is None and prod(tiles.reshape) != prod(tiles.dims):
        return tiles  # an iota that names more devices than it arranges
    devices = tiles.device_array()
    if (np.diff(devices, axis=-1) > 0).all():
        return tiles
    rising = tiles.with_rising_rows() if tiles.devices is None else None
    rows = np.sort(devices, axis=-1).reshape(-1)
    return rising or TileAssignment(tiles.dims, tuple(int(d) for d in rows))
