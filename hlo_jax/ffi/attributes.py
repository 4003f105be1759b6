"""The attributes of a call: a dictionary in MLIR's syntax, to structs that a handler reads."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.types.element_type import ELEMENT_TYPES
from hlo_jax.abi import ffi
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.ffi.errors import HandlerError
from hlo_jax.mlir import attributes_of_text

if TYPE_CHECKING:
    from hlo_jax.mlir import Attribute


@dataclass(frozen=True, slots=True)
class AttributesInMemory:
    """Attributes in memory.

    Attributes
    ----------
    record : the struct, which a call frame holds a copy of.
    kept : what it points to.
    """

    record: ffi.NamedAttributes
    kept: list[Any]


def read_attributes(text: str) -> AttributesInMemory:
    """Read a call's backend configuration.

    Raises
    ------
    HandlerError
        INVALID_ARGUMENT if it is no dictionary, or holds what FFI has no type for.
    """
    if not text:
        return _dictionary({})
    try:
        found = attributes_of_text(text)
    except ValueError as error:
        message = f"the attributes of a foreign call are no dictionary of MLIR: {text}"
        raise HandlerError(ErrorCode.INVALID_ARGUMENT, message) from error
    return _dictionary(found)


def _dictionary(values: dict[str, Attribute]) -> AttributesInMemory:
    """A dictionary, sorted by name: handlers look for a name by bisection."""
    kept: list[Any] = []
    made = [_value(name, values[name], kept) for name in sorted(values)]
    names = [_text(name.encode(), kept) for name in sorted(values)]
    record = ffi.NamedAttributes(struct_size=ctypes.sizeof(ffi.NamedAttributes), size=len(made))
    record.types = _array([kind for kind, _ in made], ctypes.c_int, kept)
    record.names = _array(names, ctypes.c_size_t, kept)
    record.values = _array([address for _, address in made], ctypes.c_size_t, kept)
    return AttributesInMemory(record, kept)


def _value(name: str, value: Attribute, kept: list[Any]) -> tuple[ffi.AttrType, int]:
    """An attribute's type and address."""
    if isinstance(value, dict):
        inner = _dictionary(cast("dict[str, Attribute]", value))
        kept.append(inner)
        return ffi.AttrType.DICTIONARY, ctypes.addressof(inner.record)
    if isinstance(value, bytes):
        return ffi.AttrType.STRING, _text(value, kept)
    type_name, content = value
    if type_name not in ELEMENT_TYPES:
        message = f"the attribute {name!r} of a foreign call is a {type_name}, which FFI can't pass"
        raise HandlerError(ErrorCode.INVALID_ARGUMENT, message)
    kind = ELEMENT_TYPES[type_name]
    array = np.ascontiguousarray(np.asarray(content).astype(kind.dtype))
    kept.append(array)
    number, data = ffi.DATA_TYPES[kind], array.ctypes.data
    if isinstance(content, np.ndarray):
        record: Any = ffi.ArrayAttribute(dtype=number, size=array.size, data=data)
        found = ffi.AttrType.ARRAY
    else:
        record, found = ffi.ScalarAttribute(dtype=number, value=data), ffi.AttrType.SCALAR
    kept.append(record)
    return found, ctypes.addressof(record)


def _text(content: bytes, kept: list[Any]) -> int:
    buffer = ctypes.create_string_buffer(content, len(content) + 1)
    span = ffi.ByteSpan(ptr=ctypes.addressof(buffer), len=len(content))
    kept += [buffer, span]
    return ctypes.addressof(span)


def _array(numbers: list[int], kind: Any, kept: list[Any]) -> int:
    array = (kind * max(len(numbers), 1))(*numbers)
    kept.append(array)
    return ctypes.addressof(array)
