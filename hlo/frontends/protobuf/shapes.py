"""Shapes, literals and metadata of XLA's messages as HLO text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.literal import Literal, literal
from hlo.types.shape import Layout, Shape, array, tuple_of

if TYPE_CHECKING:
    from collections.abc import Sequence

# Element types whose names in the messages are others than in text.
_NAMES = {"OPAQUE_TYPE": "opaque", "TUPLE": "tuple"}
# The field of a literal's elements, for types that are not packed into bytes.
REPEATED = {"pred", "s32", "s64", "u32", "u64", "f32", "f64", "c64", "c128"}


def type_name(shape: Any) -> str:
    """The name of an element type in text."""
    numbers = shape.DESCRIPTOR.fields_by_name["element_type"].enum_type.values_by_number
    if shape.element_type not in numbers or not shape.element_type:
        raise HloError("HLO201", f"the file has an element type {shape.element_type}")
    name: str = numbers[shape.element_type].name
    return _NAMES.get(name, name.lower())


def shape_text(shape: Any) -> str:
    """A shape with its layout."""
    name = type_name(shape)
    if name == "tuple":
        return f"({', '.join(map(shape_text, shape.tuple_shapes))})"
    if name == "buffer":
        return f"b({shape_text(shape.tuple_shapes[0])})"
    if name in ("token", "opaque"):
        return f"{name}[]"
    dynamic = list(shape.is_dynamic_dimension) or [False] * len(shape.dimensions)
    dims = [
        ("<=" if is_dynamic and size >= 0 else "") + (str(size) if size >= 0 else "?")
        for size, is_dynamic in zip(shape.dimensions, dynamic, strict=True)
    ]
    return f"{name}[{','.join(dims)}]{layout_text(shape)}"


def layout_text(shape: Any) -> str:
    """A layout as it follows dimensions: `{1,0:T(8,128)S(1)}`; "" for none."""
    if not shape.HasField("layout"):
        return ""
    shape_layout = shape.layout
    layout = Layout(
        tuple(shape_layout.minor_to_major),
        # A dimension below 0 is combined with the next one.
        tuple(tuple(max(n, -1) for n in tile.dimensions) for tile in shape_layout.tiles),
        tail_padding=max(shape_layout.tail_padding_alignment_in_elements, 1),
        index_type=_index_type(shape_layout, "index_primitive_type"),
        pointer_type=_index_type(shape_layout, "pointer_primitive_type"),
        element_bits=shape_layout.element_size_in_bits,
        memory_space=shape_layout.memory_space,
        splits=tuple(
            (split.dimension, tuple(split.split_indices)) for split in shape_layout.split_configs
        ),
        dynamic_metadata_bytes=shape_layout.dynamic_shape_metadata_prefix_bytes,
    )
    return "" if layout == Layout(()) else str(layout)


def _index_type(layout: Any, field: str) -> str:
    """The name of an integer type in a layout; "" for none."""
    number = getattr(layout, field)
    names = layout.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return names[number].name.lower() if number else ""


def literal_of(message: Any) -> Literal:
    """The value of a message.

    Raises
    ------
    HloError
        HLO201 if it has more or fewer elements than its shape.
    """
    name = type_name(message.shape)
    if name == "tuple":
        elements = [literal_of(part) for part in message.tuple_literals]
        return literal(tuple(e.value for e in elements), tuple_of(*(e.shape for e in elements)))
    if name == "token":
        return literal(None)
    shape: Shape = array(ELEMENT_TYPES[name], tuple(message.shape.dimensions))
    dtype = shape.element_type.dtype
    field = getattr(message, f"{name}s")
    if name in REPEATED:
        parts = np.asarray(field, shape.element_type.real.dtype if name[0] == "c" else dtype)
        values: Any = parts.view(dtype) if name[0] == "c" else parts
    else:
        values = np.frombuffer(field, dtype)
    if values.size != shape.size:
        raise HloError("HLO201", f"a literal of {shape} has {values.size} elements")
    # Elements lie in the order of the layout: the last of `major` is that of neighbours.
    major = message.shape.layout.minor_to_major[::-1] or range(len(shape.dims))
    laid = values.reshape([shape.dims[d] for d in major])
    return literal(laid.transpose(np.argsort(major)).copy(), shape)


# Fields of metadata in the order in which XLA prints them.
METADATA = (
    *("op_type", "op_name", "source_file", "source_line", "source_end_line", "source_column"),
    *("source_end_column", "deduplicated_name", "scheduling_name", "stack_frame_id"),
    *("metadata_payload", "size_of_generated_code_in_bytes"),
    "size_of_memory_working_set_in_bytes",
)


def payload_text(metadata: Any, payloads: Sequence[bytes]) -> str:
    """The payload of another tool in metadata; "" for none."""
    if not metadata.HasField("payload"):
        return ""
    value: bytes = metadata.payload.value
    number: int = metadata.payload.id
    if not value and 0 <= number < len(payloads):
        value = payloads[number]
    return value.decode("utf-8", "surrogateescape")


def quoted(text: str) -> str:
    """A string with the escapes of C."""
    marks = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "'": "\\'"}
    return f'"{"".join(marks.get(c, c) for c in text)}"'


def metadata_text(metadata: Any, payloads: Sequence[bytes] = ()) -> str:
    """The fields of metadata that are given, without braces.

    Parameters
    ----------
    payloads : of the module.
    """
    entries: list[str] = []
    for name in METADATA:
        if name == "metadata_payload":
            value = payload_text(metadata, payloads)
        else:
            value = getattr(metadata, name)
        if value:
            entries.append(f"{name}={quoted(value) if isinstance(value, str) else value}")
    return " ".join(entries)
