"""Builders for the rules of `hlo.lark` about devices: shardings and replica groups."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from lark import Token, Transformer

from hlo.read.quoting import unquote
from hlo.read.rule_tools import BadValue, integer, integers, present
from hlo.read.subgroups import SUBGROUPS, with_copies, with_subgroups
from hlo.types.sharding import (
    MAX_DEVICES,
    Mesh,
    NamedDim,
    NamedSharding,
    ReplicaGroups,
    Sharding,
    SubAxis,
    TileAssignment,
    canonical_iota,
)
from hlo.types.shardy import ShardyError, expect_axes, part_of_axis
from hlo.types.values import DomainBorder

MATRIX = 2
_NAMED = ("replicated", "unreduced", "manual")
_SIMPLE = ("replicated", "maximal", "manual", "unknown", "unreduced")


class DeviceIota(NamedTuple):
    """`<=[4,2]T(1,0)`: consecutive numbers, reshaped and transposed."""

    reshape: tuple[int, ...]
    transpose: tuple[int, ...]


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
        if any(size <= 0 for size in reshape):
            raise BadValue("the sizes of an iota are positive")
        return DeviceIota(reshape, transpose or ())

    def tile_dims(self, items: Any) -> Any:
        """`devices=[2,2]<=[4]`, `devices=[2]0,1`."""
        key, dims, devices = items
        if key != "devices":
            raise BadValue("expects devices=[...]", key)
        if not isinstance(devices, DeviceIota) and len(devices) == 1:
            raise BadValue("a sharding over one device is {maximal device=...}", key)
        # XLA does not count the devices of an iota: `devices=[2]<=[16]` says less than it could.
        return _tiles(dims, devices, key, counted=not isinstance(devices, DeviceIota))

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
        for kind in present(kinds):
            if kind not in SUBGROUPS:
                raise BadValue(f"a subgroup is {', '.join(SUBGROUPS)}", kind)
        return {"last_tile_dims": tuple(str(kind) for kind in present(kinds))}

    def sharding_metadata(self, items: Any) -> Any:
        """`metadata={op_name="a"}`; a list of one is written as that one."""
        entries = [f"{{{entry.text}}}" for entry in items]
        listed = "{" + ", ".join(entries) + "}"
        return {"metadata": listed if len(entries) > 1 else entries[0]}

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

    def single_device(self, items: Any) -> Any:
        """`{single_device[device_id=1]}`, as newer XLA spells a maximal sharding."""
        key, device, *options = items
        if key != "device_id":
            raise BadValue("expects device_id=...", key)
        return Sharding("maximal", device=integer(device), **_merge(options))

    def tiled_sharding(self, items: Any) -> Any:
        """`{devices=[2,1,2]<=[4] last_tile_dim_replicate}`."""
        tiles = items[0]
        merged = _merge(items[1:])
        kinds = merged.pop("last_tile_dims", ())
        if merged.pop("replicate_last", False):
            return replace(with_copies(tiles), **merged)
        if len(kinds) > len(tiles.dims):
            raise BadValue("there are more subgroups than dimensions")
        return replace(with_subgroups(tiles, kinds), **merged)

    def tuple_sharding(self, items: Any) -> Any:
        """`{{replicated}, {manual}}`."""
        if any(element.kind == "tuple" for element in present(items)):
            raise BadValue("the sharding of a tuple lists those of its arrays, nested ones in turn")
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
        axes = present(items)
        if len({name for name, _ in axes}) < len(axes):
            raise BadValue("the mesh has two axes of one name")
        if any(size <= 0 for _, size in axes) or prod(size for _, size in axes) > MAX_DEVICES:
            raise BadValue(f"a mesh has from 1 to {MAX_DEVICES} devices")
        return Mesh(axes)

    def maximal_mesh(self, items: Any) -> Any:
        """`maximal_mesh[device_id=1]`."""
        return Mesh((), maximal_device=integer(items[1]))

    def mesh_iota(self, items: Any) -> Any:
        """`[2,2]T(1,0)`."""
        iota = self.iota(items)
        return _tiles((prod(iota.reshape),), iota)

    def mesh_devices(self, items: Any) -> Any:
        """`device_ids=(3,2,1,0)`."""
        devices: TileAssignment | tuple[int, ...] = items[-1]
        if not isinstance(devices, TileAssignment):
            devices = TileAssignment((len(devices),), devices)
        return {"devices": devices}

    def sub_axis(self, items: Any) -> Any:
        """`"a"`, `"a":(1)2`."""
        name, before, size = items
        if not before:
            return SubAxis(name)
        try:
            return part_of_axis(name, integer(before), integer(size))
        except ShardyError as error:
            raise BadValue(str(error)) from None

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
        if key not in _NAMED:
            raise BadValue("expects replicated, unreduced or manual", key)
        if axes is None:
            return {"everywhere": str(key)}
        return {str(key): axes} | ({"unreduced_kind": str(kind)} if kind else {})

    def named_metadata(self, items: Any) -> Any:
        """`metadata={...}`, which is written as a list even if it is one."""
        return {"metadata": "{" + ", ".join(f"{{{entry.text}}}" for entry in items) + "}"}

    def named_sharding(self, items: Any) -> Any:
        """`{mesh["a"=2], [{"a"}, {}]}`."""
        mesh, *parts = items
        merged = _merge(parts)
        if devices := merged.pop("devices", None):
            mesh = _on_devices(mesh, devices)
        if everywhere := merged.pop("everywhere", None):
            if merged.keys() - {"metadata"}:
                raise BadValue(f"{everywhere} says all")
            # A mesh whose axes are not named by any part is replicated.
            axes = tuple(SubAxis(name) for name, _ in mesh.axes)
            merged |= {everywhere: axes} if everywhere != "replicated" else {}
        elif mesh.maximal_device is not None and merged.keys() - {"metadata"}:
            raise BadValue("a mesh of one device has no dimensions")
        elif mesh.maximal_device is None and "dims" not in merged:
            raise BadValue("expects a list of dimensions, replicated, unreduced or manual")
        named = NamedSharding(mesh, **merged)
        try:
            expect_axes(named)
        except ShardyError as error:
            raise BadValue(str(error)) from None
        return Sharding("named", named=named)

    # ---- replica groups

    def listed_groups(self, items: Any) -> Any:
        """`{{0,1},{2,3}}`."""
        return ReplicaGroups(items[0])

    def iota_groups(self, items: Any) -> Any:
        """`[2,4]<=[8]`."""
        if len(items[0]) != MATRIX:
            raise BadValue("groups are the rows of a matrix")
        return ReplicaGroups(tiles=_tiles(items[0], items[1]))

    def mesh_groups(self, items: Any) -> Any:
        """`mesh["a"=2,"b"=4] {"a"}`."""
        mesh, devices, axes = items
        if devices is not None:
            mesh = _on_devices(mesh, devices["devices"])
        sizes = dict(mesh.axes)
        if not axes:
            raise BadValue("no axis of the mesh is named")
        for axis in axes:
            if axis.name not in sizes:
                raise BadValue(f"the mesh has no axis {axis.name!r}")
            if axis.size == sizes[axis.name]:
                raise BadValue(f"a part of axis {axis.name!r} is smaller than all of it")
        return ReplicaGroups(mesh=mesh, axes=axes)


def _tiles(
    dims: tuple[int, ...],
    devices: tuple[int, ...] | DeviceIota,
    where: Any = None,
    *,
    counted: bool = True,
) -> TileAssignment:
    if isinstance(devices, DeviceIota):
        count = prod(devices.reshape)
        if count > MAX_DEVICES:
            raise BadValue(f"no more than {MAX_DEVICES} devices can be named", where)
        tiles = TileAssignment(dims, None, *canonical_iota(*devices))
    else:
        tiles, count = TileAssignment(dims, devices), len(devices)
    if any(n <= 0 for n in dims) or (counted and count != prod(dims)):
        raise BadValue(f"{prod(dims)} devices are arranged but {count} are given", where)
    return tiles


def _on_devices(mesh: Mesh, devices: TileAssignment) -> Mesh:
    """The mesh over the devices that are listed."""
    if prod(devices.dims) != prod(size for _, size in mesh.axes):
        raise BadValue("the mesh has not as many devices as its axes say")
    if devices.devices is None and not devices.transpose:
        return mesh  # 0, 1, 2, ..., as it is without
    return Mesh(mesh.axes, devices, mesh.maximal_device)


def _merge(parts: Any) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for part in present(parts):
        merged |= part
    return merged
