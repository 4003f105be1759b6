"""Between buffers and NumPy arrays: an array that looks at a buffer, a buffer with an array's copy.

A buffer may lie in memory in any order of its dimensions; an array that looks at it has them in
their own order, with strides.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.shape import row_major
from hlo_jax.abi.numbers import STRIDES, TILED, TYPES, ErrorCode
from hlo_jax.abi.structs import MemoryLayout
from hlo_jax.plugin.errors import PassedOnError, PjrtError
from hlo_jax.plugin.memory import numbers_array, read_numbers
from hlo_jax.shim import records, shim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo.types.element_type import ElementType
    from hlo_jax.plugin.client import PjrtMemory

    Array = NDArray[Any]


def element_type(number: int) -> ElementType:
    """The element type that PJRT gives a number.

    Raises
    ------
    PjrtError
        UNIMPLEMENTED if PyHLO has no such type.
    """
    if number not in TYPES:
        message = f"PyHLO has no arrays of the element type with PJRT's number {number}"
        raise PjrtError(ErrorCode.UNIMPLEMENTED, message)
    return TYPES[number]


def array_at(
    address: int, dims: Sequence[int], kind: ElementType, minor_to_major: Sequence[int]
) -> Array:
    """An array that looks at memory in which its dimensions lie in an order."""
    major_to_minor = tuple(reversed(minor_to_major))
    lying = tuple(dims[d] for d in major_to_minor)
    bytes_ = int(np.prod(lying, dtype=np.int64)) * kind.dtype.itemsize
    memory: Any = (ctypes.c_uint8 * bytes_).from_address(address)
    array: Array = np.frombuffer(memory, np.uint8).view(kind.dtype).reshape(lying)
    return array.transpose(np.argsort(major_to_minor)) if len(dims) > 1 else array


def value_of(handle: int) -> Array | None:
    """An array that looks at a buffer; None for a token.

    Raises
    ------
    PjrtError
        INVALID_ARGUMENT if the buffer was deleted.
    """
    array = array_of(handle)
    return None if array.dtype == object else array


def held_value_of(handle: int) -> Array | None:
    """As `value_of`, but the memory stays as long as somebody has the array, or a view of it.

    An interrupt leaves threads behind that still read what JAX deletes.
    """
    array = value_of(handle)
    if array is not None:
        shim().hold(handle)
        looking = array
        while isinstance(looking.base, np.ndarray):
            looking = looking.base
        weakref.finalize(looking, shim().let_go, handle).atexit = False
    return array


def array_of(handle: int) -> Array:
    """An array that looks at a buffer; an empty one of objects for a token.

    Raises
    ------
    PjrtError
        INVALID_ARGUMENT if the buffer was deleted.
    """
    buffer = records.BufferRecord.from_address(handle)
    if buffer.deleted:
        raise PjrtError(ErrorCode.INVALID_ARGUMENT, "Buffer has been deleted or donated.")
    if error := shim().wait_for_buffer(handle):
        raise PassedOnError(error)
    found = value_in(handle, buffer.data)
    return np.empty(0, object) if found is None else found


def value_in(handle: int, data: int) -> Array | None:
    """An array that looks at memory as it lies in a buffer; None for a token."""
    buffer = records.BufferRecord.from_address(handle)
    dims = read_numbers(buffer.dims, buffer.rank)
    order = read_numbers(buffer.minor_to_major, buffer.rank)
    kind = element_type(buffer.type)
    return array_at(data, dims, kind, order) if kind.is_array else None


def new_buffer(
    type_number: int,
    dims: Sequence[int],
    memory: PjrtMemory,
    minor_to_major: Sequence[int] | None = None,
    data: int = 0,
) -> int:
    """A buffer, in memory of its own with nothing in it yet, or in somebody else's.

    Raises
    ------
    PjrtError
        RESOURCE_EXHAUSTED if memory is out.
    """
    order = row_major(len(dims)).minor_to_major if minor_to_major is None else minor_to_major
    kind = element_type(type_number)
    bytes_ = int(np.prod(dims, dtype=np.int64)) * kind.dtype.itemsize if kind.is_array else 0
    numbers = numbers_array(dims, ctypes.c_int64), numbers_array(order, ctypes.c_int64)
    pointers = [ctypes.addressof(array) for array in numbers]
    where = memory.device.handle, memory.handle, data
    made = shim().make_buffer(type_number, len(dims), *pointers, bytes_, *where)
    if not made:
        raise PjrtError(ErrorCode.RESOURCE_EXHAUSTED, f"no memory for a buffer of {bytes_} bytes")
    return made


def buffer_with(
    array: Array | None,
    type_number: int,
    memory: PjrtMemory,
    minor_to_major: Sequence[int] | None = None,
) -> int:
    """A buffer with a copy of an array, or for a token."""
    if array is None:
        return new_buffer(type_number, (), memory)
    made = new_buffer(type_number, array.shape, memory, minor_to_major)
    array_of(made)[...] = array
    return made


def layout_order(address: int, dims: Sequence[int], kind: ElementType) -> Sequence[int] | None:
    """The order of dimensions that a MemoryLayout gives; None where it is the default.

    Raises
    ------
    PjrtError
        UNIMPLEMENTED if it has tiles, or strides that leave gaps.
    """
    if not address:
        return None
    layout = MemoryLayout.from_address(address)
    if layout.type == TILED and not layout.num_tiles:
        return read_numbers(layout.minor_to_major, layout.minor_to_major_size)
    if layout.type == STRIDES:
        # In this form, the members of a layout in tiles stand for others: strides and their number.
        strides = read_numbers(layout.minor_to_major, layout.minor_to_major_size)
        return order_of_strides(strides, dims, kind)
    raise PjrtError(ErrorCode.UNIMPLEMENTED, "PyHLO's buffers have no layouts in tiles")


def order_of_strides(
    strides: Sequence[int], dims: Sequence[int], kind: ElementType
) -> Sequence[int]:
    """The order of dimensions that lie in memory without gaps.

    Raises
    ------
    PjrtError
        UNIMPLEMENTED if there are gaps.
    """
    order = sorted(range(len(dims)), key=lambda d: (strides[d], dims[d] != 1, -d))
    step = kind.dtype.itemsize
    for d in order:
        if strides[d] != step and dims[d] != 1 and 0 not in dims:
            raise PjrtError(ErrorCode.UNIMPLEMENTED, f"a layout with gaps: strides {strides}")
        step *= dims[d]
    return order
