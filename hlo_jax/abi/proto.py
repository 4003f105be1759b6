"""Protocol buffers, as far as they are needed: fields by number, read and written.

A message is its fields one after the other. Each begins with its number and a wire type: a varint
(0), 8 bytes (1), bytes with their length in front (2), 4 bytes (5). A varint has 7 bits a byte,
lowest first, and the eighth bit says whether more follow. Messages that are put one after the
other are one message with the fields of both, so a field is added by appending it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Bytes = bytes | memoryview

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def varint(number: int) -> bytes:
    """A number from 0 on as a varint."""
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def number_field(field: int, number: int) -> bytes:
    """A field that holds a number."""
    return varint(field << 3 | _VARINT) + varint(number)


def bytes_field(field: int, content: bytes) -> bytes:
    """A field that holds text, a message, or packed numbers."""
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


def fields(message: Bytes) -> Iterator[tuple[int, int | Bytes]]:
    """The numbers of a message's fields and their contents, in order.

    Parameters
    ----------
    message : of a memoryview, the contents are views of the same memory.

    Raises
    ------
    ValueError
        If it is no message.
    """
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            number, at = _read_varint(message, at)
            yield key >> 3, number
            continue
        if kind == _BYTES:
            length, at = _read_varint(message, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            length = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"wire type {kind} at byte {at}")
        if at + length > len(message):
            raise ValueError(f"a field ends {at + length - len(message)} bytes after the message")
        yield key >> 3, message[at : at + length]
        at += length


def packed(content: bytes) -> list[int]:
    """The numbers of a packed field."""
    numbers, at = list[int](), 0
    while at < len(content):
        number, at = _read_varint(content, at)
        numbers.append(number)
    return numbers


def varints(content: Bytes) -> NDArray[np.uint64]:
    """The numbers of a large packed field, modulo 2^64.

    Raises
    ------
    ValueError
        If the last one does not end.
    """
    raw = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(raw < 128)
    if len(raw) and (not len(ends) or ends[-1] != len(raw) - 1):
        raise ValueError("a varint does not end")
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    lengths = ends - starts + 1
    numbers = np.zeros(len(ends), np.uint64)
    for k in range(int(lengths.max(initial=0))):
        has = slice(None) if k < lengths.min() else lengths > k
        numbers[has] |= (raw[starts[has] + k] & 127).astype(np.uint64) << np.uint64(7 * k)
    return numbers


def _read_varint(message: Bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(message):
            raise ValueError("a varint does not end")
        byte, at = message[at], at + 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7


def hlo_with_config(module: bytes, replicas: int, partitions: int) -> bytes:
    """A HloModuleProtoWithConfig of a HloModuleProto.

    In a module, the shapes and layouts of parameters and results are field 4 (host_program_shape);
    in a config, field 1 (entry_computation_layout). Without it, jaxlib ends the process.
    """
    layout = next(content for number, content in fields(module) if number == 4)
    config = bytes_field(1, layout) if isinstance(layout, bytes) else b""
    counts = number_field(4, replicas) + number_field(5, partitions)
    return bytes_field(1, module) + bytes_field(2, config + counts)
