"""Writes shardings and replica groups as XLA does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.types.sharding import (
        Mesh,
        NamedSharding,
        ReplicaGroups,
        Sharding,
        SubAxis,
        TileAssignment,
    )


def print_sharding(sharding: Sharding) -> str:
    """`{devices=[2,2]<=[4] last_tile_dim_replicate}` and its kin."""
    if sharding.kind == "tuple":
        return "{" + _long_list([print_sharding(element) for element in sharding.elements]) + "}"
    if sharding.named is not None:
        return "{" + _named(sharding.named) + "}"
    if sharding.tiles is not None:
        parts = ["devices=" + _tiles(sharding.tiles)]
    elif sharding.kind == "maximal":
        parts = [f"maximal device={sharding.device}"]
    else:
        parts = [sharding.kind]
    if sharding.replicate_last:
        parts.append("last_tile_dim_replicate")
    if sharding.last_tile_dims:
        parts.append("last_tile_dims={" + ", ".join(sharding.last_tile_dims) + "}")
    if sharding.group:
        parts.append(f"{sharding.group[0]} {sharding.group[1]}")
    if sharding.metadata:
        parts.append(f"metadata={sharding.metadata}")
    return "{" + " ".join(parts) + "}"


def print_replica_groups(groups: ReplicaGroups) -> str:
    """`{{0,1},{2,3}}`, `[2,2]<=[4]` or `mesh['a'=2] {'a'}`."""
    if groups.tiles is not None:
        return _tiles(groups.tiles)
    if groups.mesh is not None:
        axes = ",".join(map(_axis, groups.axes))
        return f"{_mesh(groups.mesh)} {{{axes}}}"
    return "{" + ",".join("{" + _numbers(group) + "}" for group in groups.lists) + "}"


def _numbers(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _long_list(items: list[str]) -> str:
    """Items with every fifth numbered for the reader."""
    marked = (f"/*index={i}*/{t}" if i and i % 5 == 0 else t for i, t in enumerate(items))
    return ", ".join(marked)


def _tiles(tiles: TileAssignment) -> str:
    dims = f"[{_numbers(tiles.dims)}]"
    if tiles.devices is not None:
        return dims + _numbers(tiles.devices)
    swapped = f"T({_numbers(tiles.transpose)})" if tiles.transpose else ""
    return f"{dims}<=[{_numbers(tiles.reshape)}]{swapped}"


def _mesh(mesh: Mesh) -> str:
    if mesh.maximal_device is not None:
        return f"maximal_mesh[device_id={mesh.maximal_device}]"
    axes = ",".join(f"'{name}'={size}" for name, size in mesh.axes)
    if mesh.devices is None:
        return f"mesh[{axes}]"
    if mesh.devices.devices is not None:
        devices = _numbers(mesh.devices.devices)
    else:
        swapped = _numbers(mesh.devices.transpose)
        devices = f"[{_numbers(mesh.devices.reshape)}]T({swapped})"
    return f"mesh[{axes}], device_ids=({devices})"


def _axis(axis: SubAxis) -> str:
    return f"'{axis.name}'" + (f":({axis.pre_size}){axis.size}" if axis.size else "")


def _axes(axes: tuple[SubAxis, ...]) -> str:
    return "{" + ", ".join(map(_axis, axes)) + "}"


def _named(named: NamedSharding) -> str:
    parts = [_mesh(named.mesh)]
    if named.mesh.maximal_device is None:
        parts += _named_parts(named)
    if named.metadata:
        parts.append(f"metadata={named.metadata}")
    return ", ".join(parts)


def _named_parts(named: NamedSharding) -> list[str]:
    """The dimensions, and the use of the other axes; one word where that is all."""
    others = {
        "replicated": named.replicated,
        "unreduced": named.unreduced,
        "manual": named.manual,
    }
    used = [word for word, axes in others.items() if axes]
    if not named.dims:
        if not used:
            return ["replicated"]
        word = used[0]
        every = {(name, 0) for name, _ in named.mesh.axes}
        if word != "replicated" and {(a.name, a.size) for a in others[word]} == every:
            return [word]
    dims = (
        "{" + ", ".join([*map(_axis, dim.axes), *(["?"] if dim.open else [])]) + "}"
        for dim in named.dims
    )
    parts = ["[" + ", ".join(dims) + "]"]
    for word in used:
        kind = f"[{named.unreduced_kind}]" if word == "unreduced" and named.unreduced_kind else ""
        parts.append(f"{word}={kind}{_axes(others[word])}")
    return parts
