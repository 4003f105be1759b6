"""Shardy's meshes and shardings: the texts that StableHLO and `xla.sdy.` attributes hold.

A mesh names the axes of a grid of devices, `#sdy.mesh<["x"=2, "y"=4]>`, and a sharding names the
axes over which each dimension is split, `<@mesh, [{"x"}, {"y", ?}]>`. HLO's own form of the latter
is an array of tiles, `{devices=[2,4]<=[8]}`, which `tiled` makes of it.

Source: the Shardy dialect, `shardy/dialect/sdy/ir/attrs.td` in openxla/shardy.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from hlo.types.sharding import (
    MAX_DEVICES,
    Mesh,
    NamedDim,
    NamedSharding,
    Sharding,
    SubAxis,
    TileAssignment,
    canonical_iota,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_STRING = r'"(?:[^"\\]|\\.)*"'
_MESH = r"mesh<\[(?P<axes>[^\]]*)\](?:,\s*device_ids\s*=\s*\[(?P<devices>[^\]]*)\])?\s*>"
_NAMED_MESH = re.compile(rf"(?P<name>[\w$.-]+|{_STRING})\s*=\s*#sdy\.{_MESH}")
_ONE_MESH = re.compile(_MESH)
_AXIS = re.compile(rf"(?P<name>{_STRING})\s*=\s*(?P<size>\d+)")
_SHARDING = re.compile(
    rf"<\s*(?:@(?P<name>[\w$.-]+|{_STRING})|{_MESH})\s*,\s*\[(?P<dims>[^\]]*)\](?P<rest>[^<>]*)>"
)
_PARTS = re.compile(r"(?P<key>\w+)\s*=\s*\{(?P<axes>[^}]*)\}")
_DIM = re.compile(r"\{([^}]*)\}")
_SUB_AXIS = re.compile(rf"(?P<name>{_STRING})(?::\((?P<before>\d+)\)(?P<size>\d+))?")


class ShardyError(ValueError):
    """A text that is not Shardy's, or one with a mesh or axis that does not exist."""


def meshes_of(text: str) -> dict[str, Mesh]:
    """The meshes of a module: `{mesh = #sdy.mesh<["x"=2, "y"=4]>}`."""
    return {_plain(match["name"]): _mesh(match) for match in _NAMED_MESH.finditer(_written(text))}


def mesh_of(text: str) -> Mesh:
    """One mesh: `mesh<["x"=2, "y"=4], device_ids=[...]>`.

    Raises
    ------
    ShardyError
        if it is none.
    """
    match = _ONE_MESH.search(text)
    if match is None:
        raise ShardyError(f"`{text}` is no mesh")
    return _mesh(match)


def shardings_of(text: str, meshes: Mapping[str, Mesh]) -> tuple[NamedSharding, ...]:
    """The shardings of `#sdy.sharding<...>`, one, or of `#sdy.sharding_per_value<[<...>, ...]>`.

    Raises
    ------
    ShardyError
        if one names a mesh or an axis that there is not.
    """
    return tuple(_sharding(match, meshes) for match in _SHARDING.finditer(_written(text)))


def axes_of(text: str) -> tuple[str, ...]:
    """The names of axes: `#sdy<manual_axes{"x", "y"}>`."""
    return tuple(_plain(text) for text in re.findall(_STRING, _written(text)))


def devices_of(mesh: Mesh) -> int:
    """The number of devices of a mesh."""
    return prod(size for _, size in mesh.axes)


@lru_cache(1024)
def tiled(named: NamedSharding, rank: int, axes: Collection[str] | None = None) -> Sharding:
    """The tiles of a sharding by axes: `[{"x"}, {}]` as `{devices=[2,1,4]<=[8] ...replicate}`.

    Parameters
    ----------
    rank : of the array; dimensions that the sharding does not name are not split.
    axes : those that count, a frozenset; the devices along others hold copies. None for all.
    """
    if named.mesh.maximal_device is not None:
        return Sharding("maximal", device=named.mesh.maximal_device)
    dims = [[a for a in d.axes if axes is None or a.name in axes] for d in named.dims]
    dims += [[] for _ in range(rank - len(dims))]
    sizes, places = _factors(named.mesh, [axis for dim in dims for axis in dim])
    taken = [[place for axis in dim for place in places[axis]] for dim in dims]
    order = [place for dim in taken for place in dim]
    counts = tuple(prod(sizes[place] for place in dim) for dim in taken)
    if prod(counts) == 1:
        return Sharding("replicated")
    order += [place for place in range(len(sizes)) if place not in order]
    copies = prod(sizes) // prod(counts)
    whole = (*counts, copies) if copies > 1 else counts
    if named.mesh.devices is None:
        tiles = TileAssignment(whole, None, *canonical_iota(tuple(sizes), tuple(order)))
    else:
        grid = named.mesh.devices.device_array().reshape(sizes).transpose(order)
        tiles = TileAssignment(whole, tuple(int(d) for d in grid.reshape(-1)))
    return Sharding("tiled", tiles, replicate_last=copies > 1)


def _factors(mesh: Mesh, used: list[SubAxis]) -> tuple[list[int], dict[SubAxis, list[int]]]:
    """The sizes of a mesh, cut where sub-axes begin and end, and the places of each sub-axis."""
    sizes: list[int] = []
    places: dict[SubAxis, list[int]] = {}
    for name, size in mesh.axes:
        own = {a: (a.pre_size, a.pre_size * a.size) if a.size else (1, size) for a in used
               if a.name == name}  # fmt: skip
        cuts = sorted({1, size, *(cut for range_ in own.values() for cut in range_)})
        for axis, (first, last) in own.items():
            places[axis] = [
                len(sizes) + k for k, cut in enumerate(cuts[:-1]) if first <= cut < last
            ]
        pieces = [after // before for before, after in pairwise(cuts)]
        if prod(pieces) != size:
            raise ShardyError(f'axis "{name}" of size {size} has no such part')
        sizes += pieces
    return sizes, places


def _sharding(match: re.Match[str], meshes: Mapping[str, Mesh]) -> NamedSharding:
    name = match["name"]
    if name is not None and _plain(name) not in meshes:
        raise ShardyError(f"there is no mesh @{name}")
    mesh = _mesh(match) if name is None else meshes[_plain(name)]
    dims = tuple(
        NamedDim(_sub_axes(inside), open="?" in re.sub(_STRING, "", inside))
        for inside in _DIM.findall(match["dims"])
    )
    others = {m["key"]: _sub_axes(m["axes"]) for m in _PARTS.finditer(match["rest"])}
    sharding = NamedSharding(mesh, dims, others.get("replicated", ()), others.get("unreduced", ()))
    expect_axes(sharding)
    return sharding


def _sub_axes(text: str) -> tuple[SubAxis, ...]:
    return tuple(
        part_of_axis(_plain(m["name"]), int(m["before"]), int(m["size"]))
        if m["size"]
        else SubAxis(_plain(m["name"]))
        for m in _SUB_AXIS.finditer(text)
    )


def part_of_axis(name: str, pre_size: int, size: int) -> SubAxis:
    """A part of an axis: `"x":(2)4`.

    Raises
    ------
    ShardyError
        if it is a part of no device, or of one.

    References
    ----------
    Shardy, `verifySubAxes` in `shardy/dialect/sdy/ir/verifiers.cc`.
    """
    if pre_size < 1 or size < 2:
        message = f'`"{name}":({pre_size}){size}`: a part begins from 1 on and has 2 or more'
        raise ShardyError(message)
    return SubAxis(name, pre_size, size)


def expect_axes(named: NamedSharding) -> None:
    """Refuse a sharding by axes that its mesh has not, or by one axis twice.

    Raises
    ------
    ShardyError
        which names the axis.
    """
    known, used = dict(named.mesh.axes), [axis for dim in named.dims for axis in dim.axes]
    used += (*named.replicated, *named.unreduced, *named.manual)
    for axis in used:
        if axis.name not in known:
            raise ShardyError(f'the mesh has no axis "{axis.name}"')
        if bool(axis.pre_size) != bool(axis.size):
            raise ShardyError(f'axis "{axis.name}" of size {known[axis.name]} has no such part')
    taken: set[int] = set()
    _, places = _factors(named.mesh, used)
    for axis in used:
        if not taken.isdisjoint(places[axis]):
            raise ShardyError(f'axis "{axis.name}" is used twice')
        taken.update(places[axis])


def mesh(axes: Iterable[tuple[str, int]], devices: Sequence[int] | None = None) -> Mesh:
    """A mesh of some axes.

    Parameters
    ----------
    devices : their numbers in row-major order; None for 0, 1, 2, ...

    Raises
    ------
    ShardyError
        if it has too many devices, another number of them than its axes say, or others than
        0, 1, 2, ... in some order.
    """
    axes = tuple(axes)
    sizes = tuple(size for _, size in axes)
    if any(size < 1 for size in sizes) or prod(sizes) > MAX_DEVICES:
        raise ShardyError(f"a mesh has from 1 to {MAX_DEVICES} devices")
    if devices is None:
        return Mesh(axes)
    if len(devices) != prod(sizes):
        raise ShardyError(f"a mesh of {prod(sizes)} devices names {len(devices)}")
    if not axes:
        return Mesh((), maximal_device=int(devices[0]))
    if other := set(range(len(devices))).difference(devices):
        raise ShardyError(f"a mesh of {len(devices)} devices leaves out device {min(other)}")
    return Mesh(axes, TileAssignment(sizes, tuple(int(d) for d in devices)))


def mesh_text(mesh: Mesh) -> str:
    """The text of a mesh, `#sdy.mesh<["x"=2, "y"=4]>`."""
    axes = ", ".join(f'"{name}"={size}' for name, size in mesh.axes)
    devices = mesh.devices.device_array().reshape(-1) if mesh.devices else ()
    if mesh.maximal_device is not None:
        devices = (mesh.maximal_device,)
    listed = ", ".join(str(device) for device in devices)
    return f"#sdy.mesh<[{axes}]{f', device_ids=[{listed}]' if listed else ''}>"


def _mesh(match: re.Match[str]) -> Mesh:
    axes = tuple((_plain(m["name"]), int(m["size"])) for m in _AXIS.finditer(match["axes"]))
    listed = match["devices"]
    return mesh(axes, None if listed is None else [int(d) for d in re.findall(r"\d+", listed)])


def _plain(name: str) -> str:
    return name.strip('"')


def _written(text: str) -> str:
    """The text without the escapes that an attribute's quotes need."""
    return text.replace('\\"', '"')
