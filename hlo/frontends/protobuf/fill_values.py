"""Fills messages of shapes, literals, metadata, shardings and origins.

It is the other way of `shapes`, `shardings` and `origins`. A function takes the message to fill and
the value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes.annotations import Metadata
from hlo.frontends.protobuf.shapes import METADATA, REPEATED
from hlo.read.metadata_text import KEYS
from hlo.read.quoting import QUOTED, unquote
from hlo.types.shape import UNBOUNDED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.types.literal import Literal
    from hlo.types.shape import Layout, Shape
    from hlo.types.sharding import Mesh, NamedSharding, Sharding, SubAxis
    from hlo.types.values import FrontendAttributes

# How messages say that a size, or that of a tile, is not a number.
_NO_SIZE = -(2**63)


def set_word(message: Any, field: str, word: str) -> None:
    """Set a field to the value of its enumeration that has a name."""
    values = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_name
    setattr(message, field, values[word].number)


def text_of(written: str) -> str:
    """The text of a string, which may be in quotes."""
    return unquote(written) if written.startswith('"') else written


def fill_shape(message: Any, shape: Shape) -> None:
    """A shape with its layout."""
    set_word(message, "element_type", shape.element_type.name.upper())
    for element in shape.elements:
        fill_shape(message.tuple_shapes.add(), element)
    if not shape.is_array:
        return
    message.dimensions.extend(_NO_SIZE if n == UNBOUNDED else n for n in shape.dims)
    message.is_dynamic_dimension.extend(shape.dynamic_at(d) for d in range(shape.rank))
    if shape.layout is not None:
        _fill_layout(message.layout, shape.layout)


def _fill_layout(message: Any, layout: Layout) -> None:
    message.minor_to_major.extend(layout.minor_to_major)
    for tile in layout.tiles:
        message.tiles.add().dimensions.extend(_NO_SIZE if n == -1 else n for n in tile)
    message.tail_padding_alignment_in_elements = layout.tail_padding
    for field, name in (("index", layout.index_type), ("pointer", layout.pointer_type)):
        if name:
            set_word(message, f"{field}_primitive_type", name.upper())
    message.element_size_in_bits = layout.element_bits
    message.memory_space = layout.memory_space
    message.dynamic_shape_metadata_prefix_bytes = layout.dynamic_metadata_bytes
    for dimension, places in layout.splits:
        split = message.split_configs.add(dimension=dimension)
        split.split_indices.extend(places)


def fill_literal(message: Any, literal: Literal) -> None:
    """A value, its elements in the order of the layout."""
    shape = literal.shape
    fill_shape(message.shape, shape)
    for element in literal.elements:
        fill_literal(message.tuple_literals.add(), element)
    if literal.array is None:
        return
    order = shape.layout.minor_to_major[::-1] if shape.layout else tuple(range(shape.rank))
    lying = np.ascontiguousarray(literal.array.transpose(order)).reshape(-1)
    name = shape.element_type.name
    if name not in REPEATED:
        setattr(message, f"{name}s", lying.tobytes())
    elif shape.element_type.is_complex:
        getattr(message, f"{name}s").extend(lying.view(shape.element_type.real.dtype).tolist())
    else:
        getattr(message, f"{name}s").extend(lying.tolist())


_ENTRY = re.compile(rf"(\w+)=({QUOTED}|\{{[^}}]*\}}|\S+)", re.DOTALL)


def fill_metadata(message: Any, metadata: Metadata) -> None:
    """The fields of metadata; the payload by its value."""
    for key, written in _ENTRY.findall(metadata.text):
        if key == "metadata_payload":
            message.payload.value = unquote(written).encode("utf-8", "surrogateescape")
        elif key in METADATA:
            value: Any = unquote(written) if KEYS[key] == "string" else int(written)
            setattr(message, key, value)


def fill_map(message: Any, attributes: FrontendAttributes) -> None:
    """Strings by name."""
    for key, value in attributes.entries:
        message.map.add(key=key, value=text_of(value))


# ---------------------------------------------------------------------------------- shardings


def fill_sharding(message: Any, sharding: Sharding) -> None:
    """A sharding, of any kind."""
    if sharding.named is not None:
        _fill_named(message.named_sharding, sharding.named)
        return
    kind = "OTHER" if sharding.kind == "tiled" else sharding.kind.upper()
    set_word(message, "type", kind)
    for element in sharding.elements:
        fill_sharding(message.tuple_shardings.add(), element)
    if sharding.kind == "maximal":
        message.tile_assignment_dimensions.append(1)
        message.tile_assignment_devices.append(sharding.device)
    if tiles := sharding.tiles:
        message.tile_assignment_dimensions.extend(tiles.dims)
        message.tile_assignment_devices.extend(tiles.devices or ())
        message.iota_reshape_dims.extend(tiles.reshape)
        turned = tiles.transpose or range(len(tiles.reshape))
        message.iota_transpose_perm.extend(turned)
    message.replicate_on_last_tile_dim = sharding.replicate_last
    kinds = message.DESCRIPTOR.fields_by_name["last_tile_dims"].enum_type.values_by_name
    message.last_tile_dims.extend(kinds[word.upper()].number for word in sharding.last_tile_dims)
    if sharding.group:
        way, message.shard_group_id = sharding.group
        message.is_shard_group = True
        set_word(message, "shard_group_type", way.removeprefix("shard_").upper())
    _fill_said(message, sharding.metadata)


def _fill_said(message: Any, written: str) -> None:
    """The metadata of a sharding, which may be several in braces."""
    inside = written.strip()
    for text in re.findall(rf"\{{((?:{QUOTED}|[^{{}}])*)\}}", inside) or (
        [inside] if inside else []
    ):
        fill_metadata(message.metadata.add(), Metadata(text))


def fill_mesh(message: Any, mesh: Mesh) -> None:
    """A mesh of devices."""
    for name, size in mesh.axes:
        message.axes.add(name=name, size=size)
    if mesh.maximal_device is not None:
        message.device_ids.append(mesh.maximal_device)
    if mesh.devices is None:
        return
    if mesh.devices.devices is not None:
        message.device_ids.extend(mesh.devices.devices)
        return
    message.iota_transform.reshape_dims.extend(mesh.devices.reshape)
    turned = mesh.devices.transpose or range(len(mesh.devices.reshape))
    message.iota_transform.transpose_perm.extend(turned)


def fill_axes(field: Any, axes: Iterable[SubAxis], mesh: Mesh) -> None:
    """Axes of a mesh, or parts of such."""
    numbers = {name: number for number, (name, _) in enumerate(mesh.axes)}
    for axis in axes:
        part = field.add(mesh_axis_index=numbers[axis.name])
        if axis.size:
            part.sub_axis_info.pre_size, part.sub_axis_info.size = axis.pre_size, axis.size


def _fill_named(message: Any, named: NamedSharding) -> None:
    fill_mesh(message.mesh, named.mesh)
    for dim in named.dims:
        dim_message = message.dim_shardings.add(is_closed=not dim.open)
        fill_axes(dim_message.axes, dim.axes, named.mesh)
    for word in ("replicated", "unreduced", "manual"):
        fill_axes(getattr(message, f"{word}_axes"), getattr(named, word), named.mesh)
    _fill_said(message, named.metadata)


# ------------------------------------------------------------------------------------ origins

_TOKEN = re.compile(rf"\(|\)|,|\{{\[synthetic_call\]\}}|\{{(?:{QUOTED}(?: \{{[\d,]*\}})?)?\}}")
_ARRAY = re.compile(rf"\{{({QUOTED})(?: \{{([\d,]*)\}})?\}}", re.DOTALL)


def fill_array(message: Any, written: str) -> None:
    """An array of the program at first: `{"while" {1}}`."""
    if match := _ARRAY.fullmatch(written.strip()):
        message.instruction_name = unquote(match[1])
        message.shape_index.extend(int(n) for n in (match[2] or "").split(",") if n)


def fill_origin(message: Any, written: str) -> None:
    """The origin of a value: a tree of arrays, `{({"a"}, {"b" {1}})}`."""
    path: list[int] = []
    for token in _TOKEN.findall(written[1:-1]):
        if token == "(":
            path.append(0)
        elif token == ")":
            path.pop()
        elif token == ",":
            path[-1] += 1
        elif "synthetic_call" in token:
            message.is_synthetic_call = True
        else:
            element = message.elements.add()
            element.shape_index.extend(path)
            if token != "{}":
                fill_array(element.original_array, token)


def fill_statistics(message: Any, written: str) -> None:
    """A profiler's statistics: `{visualizing_index=0,flops=1.5}`."""
    for pair in written.strip("{}").split(","):
        name, _, value = pair.partition("=")
        if name == "visualizing_index":
            message.stat_index_to_visualize = int(value)
        elif name:
            message.statistics.add(stat_name=name, stat_val=float(value))
