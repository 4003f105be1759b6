"""Memory that JAX may read after a function has returned: texts, arrays of numbers, attributes.

Most results of PJRT's functions are addresses of something that the plugin owns. What is said here
once, like a device's name, is kept as long as the process lives.
"""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import TYPE_CHECKING, Any

from hlo_jax.abi.numbers import NamedValueType
from hlo_jax.abi.structs import NamedValue
from hlo_jax.shim import address_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_KEPT: list[Any] = []


@cache
def _kept(content: bytes) -> ctypes.Array[Any]:
    return ctypes.create_string_buffer(content)


def text(content: str | bytes) -> tuple[int, int]:
    """The address of a text, which is kept for good, and its length."""
    encoded = content.encode() if isinstance(content, str) else content
    return ctypes.addressof(_kept(encoded)), len(encoded)


def kept_numbers(numbers: Sequence[int]) -> tuple[int, int]:
    """The address of numbers, which are kept for good, and their count."""
    return ctypes.addressof(_kept(bytes(numbers_array(numbers)))), len(numbers)


def kept(array: Any) -> int:
    """The address of an array of C, which is kept for good."""
    _KEPT.append(array)
    return ctypes.addressof(array)


def numbers_array(numbers: Sequence[int], kind: Any = ctypes.c_size_t) -> Any:
    """Numbers as an array of C, of at least one element."""
    return (kind * max(len(numbers), 1))(*numbers)


def read_numbers(address: int, count: int, kind: Any = ctypes.c_int64) -> tuple[int, ...]:
    """Numbers that lie somewhere."""
    return tuple((kind * count).from_address(address)) if count else ()


def named_values(values: Mapping[str, str | int | float | bool | Sequence[int]]) -> Any:
    """An array of NamedValue; the numbers in lists are kept for good."""
    made = (NamedValue * max(len(values), 1))()
    for one, (name, value) in zip(made, values.items(), strict=False):
        one.struct_size = ctypes.sizeof(NamedValue)
        one.name, one.name_size = text(name)
        one.value_size = 1
        if isinstance(value, str):
            one.type = NamedValueType.STRING
            one.value, one.value_size = text(value)
        elif isinstance(value, bool):
            one.type, one.value = NamedValueType.BOOL, int(value)
        elif isinstance(value, int):
            one.type, one.value = NamedValueType.INT64, value % 2**64
        elif isinstance(value, float):
            one.type = NamedValueType.FLOAT
            one.value = int.from_bytes(struct.pack("<f", value), "little")
        else:
            one.type = NamedValueType.INT64_LIST
            one.value, one.value_size = kept_numbers([n % 2**64 for n in value])
    return made


def no_deleter() -> int:
    """The address of a function that frees nothing."""
    return address_of("nothing") or 0
