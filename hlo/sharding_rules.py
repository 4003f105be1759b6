"""What the rules of `values.lark` build that speak of devices: shardings, meshes, replica groups."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from lark import Token, Transformer

from hlo.sharding import (
    Mesh,
    NamedDim,
    NamedSharding,
    ReplicaGroups,
    Sharding,
    SubAxis,
    TileAssignment,
    canonical_iota,
)
from hlo.value_rules import BadValue, integer, integers, present, unquote
from hlo.values import DomainBorder

_SIMPLE = ("replicated", "maximal", "manual", "unknown", "unreduced")


class ShardingRules(Transformer[Token, Any]):
    """The rules for shardings and replica groups."""

    def device_list(self, items: Any) -> Any:
        """`0,1,2,3`."""
        return integers(items)

    def iota(self, items: Any) -> Any:
        """`<=[4,2]T(1,0)`."""
        reshape, transpose = items
        if transpose and sorted(transpose) != list(range(len(reshape))):
            raise BadValue("the transposition is no order of the dimensions")
        return {"reshape": reshape, "transpose": transpose or ()}

    def tile_dims(self, items: Any) -> Any:
        """`devices=[2,2]<=[4]`, `devices=[2]0,1`."""
        key, dims, devices = items
        if key != "devices":
            raise BadValue("expects devices=[...]", key)
        return _tiles(dims, devices, key)

    def shard_group(self, items: Any) -> Any:
        """`shard_as 3`."""
        if items[0] not in ("shard_as", "shard_like"):
            raise BadValue("expects shard_as or shard_like", items[0])
        return {"group": (str(items[0]), integer(items[1]))}

    def replicate_last(self, items: Any) -> Any:
        """`last_tile_dim_replicate`."""
        if items[0] != "last_tile_dim_replicate":
            raise BadValue("expects last_tile_dim_replicate", items[0])
        return {"replicate_last": True}

    def last_tile_dims(self, items: Any) -> Any:
        """`last_tile_dims={manual, replicated}`."""
        key, *kinds = items
        if key != "last_tile_dims":
            raise BadValue("expects last_tile_dims", key)
        return {"last_tile_dims": tuple(str(kind) for kind in present(kinds))}

    def sharding_metadata(self, items: Any) -> Any:
        """`metadata={op_name="a"}`."""
        return {"metadata": str(items[-1])}

    def simple_sharding(self, items: Any) -> Any:
        """`{replicated}`, `{maximal device=1}`."""
        kind, key, device, *options = items
        if kind not in _SIMPLE:
            raise BadValue(f"a sharding is {', '.join(_SIMPLE)} or devices=[...]", kind)
        if (kind == "maximal") != (key is not None) or key not in (None, "device"):
            raise BadValue("a maximal sharding, and no other, names a device", kind)
        merged = _merge(options)
        if device is not None:
            merged["device"] = integer(device)
        return Sharding(str(kind), **merged)

    def tiled_sharding(self, items: Any) -> Any:
        """`{devices=[2,1,2]<=[4] last_tile_dim_replicate}`."""
        merged = _merge(items[1:])
        tiles, kinds = _sorted_subgroups(items[0], merged.pop("last_tile_dims", ()))
        if merged.get("replicate_last"):
            tiles = _sorted_copies(tiles)
        return Sharding("tiled", tiles, last_tile_dims=kinds, **merged)

    def tuple_sharding(self, items: Any) -> Any:
        """`{{replicated}, {manual}}`."""
        return Sharding("tuple", elements=present(items))

    def domain(self, items: Any) -> Any:
        """`{kind="sharding", entry={...}, exit={...}}`."""
        kind, name, entry, before, exit_, after = items
        if (kind, entry, exit_) != ("kind", "entry", "exit"):
            raise BadValue("a domain has kind, entry and exit", kind)
        return DomainBorder(unquote(name), before, after)

    # ---- meshes

    def axis(self, items: Any) -> Any:
        """`"a"=2`."""
        return items[0], integer(items[1])

    def mesh(self, items: Any) -> Any:
        """`mesh["a"=2,"b"=4]`."""
        return Mesh(present(items))

    def maximal_mesh(self, items: Any) -> Any:
        """`maximal_mesh[device_id=1]`."""
        return Mesh((), maximal_device=integer(items[1]))

    def mesh_iota(self, items: Any) -> Any:
        """`[4]<=[2,2]T(1,0)`."""
        return TileAssignment(items[0], None, **items[1])

    def mesh_devices(self, items: Any) -> Any:
        """`device_ids=(3,2,1,0)`."""
        devices = items[-1]
        if isinstance(devices, tuple):
            devices = TileAssignment((len(devices),), devices)
        return {"devices": devices}

    def sub_axis(self, items: Any) -> Any:
        """`"a"`, `"a":(1)2`."""
        name, before, size = items
        return SubAxis(name, integer(before or 0), integer(size or 0))

    def named_dim(self, items: Any) -> Any:
        """`{"a", ?}`."""
        axes = tuple(item for item in present(items) if isinstance(item, SubAxis))
        return NamedDim(axes, len(axes) < len(present(items)))

    def axes(self, items: Any) -> Any:
        """`{"a","b"}`."""
        return present(items)

    def named_part(self, items: Any) -> Any:
        """A mesh's device numbers."""
        return items[0]

    def named_dims(self, items: Any) -> Any:
        """`[{"a"}, {}]`."""
        return {"dims": present(items)}

    def named_axes(self, items: Any) -> Any:
        """`replicated={"a"}`, `unreduced=[sum]{"b"}`."""
        key, kind, axes = items
        if key not in ("replicated", "unreduced", "manual"):
            raise BadValue("expects replicated, unreduced or manual", key)
        return {str(key): axes or ()} | ({"unreduced_kind": str(kind)} if kind else {})

    def named_metadata(self, items: Any) -> Any:
        """`metadata={...}`."""
        return {"metadata": str(items[-1])}

    def named_sharding(self, items: Any) -> Any:
        """`{mesh["a"=2], [{"a"}, {}]}`."""
        mesh, *parts = items
        merged = _merge(parts)
        if devices := merged.pop("devices", None):
            mesh = Mesh(mesh.axes, devices, mesh.maximal_device)
        return Sharding("named", named=NamedSharding(mesh, **merged))

    # ---- replica groups

    def listed_groups(self, items: Any) -> Any:
        """`{{0,1},{2,3}}`."""
        return ReplicaGroups(items[0])

    def iota_groups(self, items: Any) -> Any:
        """`[2,4]<=[8]`."""
        return ReplicaGroups(tiles=_tiles(items[0], items[1]))

    def mesh_groups(self, items: Any) -> Any:
        """`mesh["a"=2,"b"=4] {"a"}`."""
        mesh, devices, axes = items
        if devices is not None:
            mesh = Mesh(mesh.axes, devices["devices"])
            if prod(mesh.devices.dims) != prod(size for _, size in mesh.axes):
                raise BadValue("the mesh has not as many devices as its axes say")
        names = [name for name, _ in mesh.axes]
        for axis in axes:
            if axis.name not in names:
                raise BadValue(f"the mesh has no axis {axis.name!r}")
        return ReplicaGroups(mesh=mesh, axes=axes)


def _tiles(dims: tuple[int, ...], devices: Any, where: Any = None) -> TileAssignment:
    if isinstance(devices, dict):
        given = prod(devices["reshape"])
        tiles = TileAssignment(dims, None, *canonical_iota(**devices))
    else:
        tiles, given = TileAssignment(dims, devices), len(devices)
    if any(n <= 0 for n in dims) or given != prod(dims):
        raise BadValue(f"{prod(dims)} devices are arranged but {given} are given", where)
    return tiles


def _sorted_subgroups(
    tiles: TileAssignment, kinds: tuple[str, ...]
) -> tuple[TileAssignment, tuple[str, ...]]:
    """Subgroups in XLA's order: manual ones before replicated ones."""
    if list(kinds) == sorted(kinds):
        return tiles, kinds
    lead = len(tiles.dims) - len(kinds)
    order = sorted(range(len(kinds)), key=lambda i: kinds[i])
    axes = (*range(lead), *(lead + i for i in order))
    return tiles.transposed(axes), tuple(kinds[i] for i in order)


def _sorted_copies(tiles: TileAssignment) -> TileAssignment:
    """Devices that hold the same copy in rising order, as XLA keeps them."""
    if tiles.devices is None:
        return tiles
    rows = np.sort(tiles.device_array(), axis=-1)
    return TileAssignment(tiles.dims, tuple(int(d) for d in rows.reshape(-1)))


def _merge(parts: Any) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for part in present(parts):
        merged |= part
    return merged
