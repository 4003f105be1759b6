"""Shardings and meshes of devices of XLA's messages as HLO text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.frontends.protobuf.shapes import metadata_text

if TYPE_CHECKING:
    from collections.abc import Iterable


def mesh_text(mesh: Any) -> str:
    """A mesh of devices: `mesh['x'=2,'y'=2], device_ids=(3,2,1,0)`."""
    axes = [axis for axis in mesh.axes if axis.name or axis.size]
    sizes = ",".join(f"'{axis.name}'={axis.size}" for axis in axes)
    text = f"mesh[{sizes}]"
    if not axes and mesh.device_ids:
        return f"maximal_mesh[device_id={mesh.device_ids[0]}]"
    if mesh.iota_transform.reshape_dims:
        dims = ",".join(map(str, mesh.iota_transform.reshape_dims))
        turned = ",".join(map(str, mesh.iota_transform.transpose_perm))
        return f"{text}, device_ids=([{dims}]T({turned}))"
    if mesh.device_ids:
        return f"{text}, device_ids=({','.join(map(str, mesh.device_ids))})"
    return text


def axes_text(mesh: Any, axes: Iterable[Any], between: str = ",") -> str:
    """Axes of a mesh, or parts of such: `'x','y':(1)2`."""
    return between.join(
        f"'{mesh.axes[axis.mesh_axis_index].name}'"
        + (
            f":({axis.sub_axis_info.pre_size}){axis.sub_axis_info.size}"
            if axis.HasField("sub_axis_info")
            else ""
        )
        for axis in axes
    )


def _named_sharding(sharding: Any) -> str:
    """A sharding by the axes of a mesh: `{mesh['x'=2,'y'=2], [{'x'}, {}], replicated={'y'}}`."""
    mesh = sharding.mesh
    parts = [mesh_text(mesh)]
    dims = [
        [*([axes_text(mesh, d.axes, ", ")] if d.axes else []), *([] if d.is_closed else ["?"])]
        for d in sharding.dim_shardings
    ]
    if dims:
        told_dims = (f"{{{', '.join(dim)}}}" for dim in dims)
        parts.append(f"[{', '.join(told_dims)}]")
    for name in ("replicated", "unreduced", "manual"):
        axes = getattr(sharding, f"{name}_axes")
        if axes:
            parts.append(f"{name}={{{axes_text(mesh, axes, ', ')}}}")
    metadata = [metadata_text(entry) for entry in sharding.metadata]
    if metadata:
        many = ", ".join(f"{{{text}}}" for text in metadata)
        parts.append(f"metadata={f'{{{many}}}' if len(metadata) > 1 else many}")
    if len(parts) == 1 and not parts[0].startswith("maximal"):
        parts.append("replicated")
    return f"{{{', '.join(parts)}}}"


def _group(sharding: Any) -> str:
    """The group of shardings that are to be alike, and metadata, as they come after a kind."""
    group = ""
    if sharding.is_shard_group:
        group = f" shard_{'like' if sharding.shard_group_type else 'as'} {sharding.shard_group_id}"
    metadata = [metadata_text(entry) for entry in sharding.metadata]
    if metadata:
        many = f"{{{', '.join(f'{{{text}}}' for text in metadata)}}}"
        group += f" metadata={many if len(metadata) > 1 else f'{{{metadata[0]}}}'}"
    return group


def sharding_text(sharding: Any) -> str:
    """A sharding in braces.

    Raises
    ------
    HloError
        HLO201 for a kind that is not read.
    """
    if sharding.HasField("named_sharding"):
        return _named_sharding(sharding.named_sharding)
    kinds = sharding.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_number
    kind = kinds[sharding.type].name if sharding.type in kinds else "?"
    group = _group(sharding)
    if kind == "TUPLE":
        return f"{{{', '.join(map(sharding_text, sharding.tuple_shardings))}}}"
    if kind == "MAXIMAL":
        devices = list(sharding.tile_assignment_devices) or [0]
        return f"{{maximal device={devices[0]}{group}}}"
    if kind in ("REPLICATED", "MANUAL", "UNKNOWN", "UNREDUCED"):
        return f"{{{kind.lower()}{group}}}"
    if kind != "OTHER" or not sharding.tile_assignment_dimensions:
        raise HloError("HLO201", "the file has a sharding that is not read")
    dims = ",".join(map(str, sharding.tile_assignment_dimensions))
    if sharding.iota_reshape_dims:
        devices = f"<=[{','.join(map(str, sharding.iota_reshape_dims))}]"
        turned = list(sharding.iota_transpose_perm)
        if turned != sorted(turned):
            devices += f"T({','.join(map(str, turned))})"
    else:
        devices = ",".join(map(str, sharding.tile_assignment_devices))
    last = " last_tile_dim_replicate" if sharding.replicate_on_last_tile_dim else ""
    if sharding.last_tile_dims:
        names = ",".join(kinds[t].name.lower() for t in sharding.last_tile_dims)
        last = f" last_tile_dims={{{names}}}"
    return f"{{devices=[{dims}]{devices}{last}{group}}}"
