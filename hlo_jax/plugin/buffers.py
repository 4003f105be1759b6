"""Copies of buffers from the host, to the host, and between memories.

The shim answers queries about a buffer in C, without Python.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.shape import row_major
from hlo_jax.abi.numbers import ErrorCode
from hlo_jax.abi.structs import ShapeSpec
from hlo_jax.plugin.arrays import (
    array_at,
    array_of,
    buffer_with,
    element_type,
    layout_order,
    new_buffer,
)
from hlo_jax.plugin.client import client
from hlo_jax.plugin.errors import PjrtError
from hlo_jax.plugin.memory import read_numbers
from hlo_jax.plugin.table import answers
from hlo_jax.shim import address_of, records, shim

if TYPE_CHECKING:
    from hlo_jax.abi import structs as s


def ready_event() -> int:
    """The event that has happened already: every copy ends before its function returns."""
    return address_of("ready") or 0


@answers("PJRT_Client_BufferFromHostBuffer")
def from_host(args: s.ClientBufferFromHostBuffer) -> None:
    """Copy an array of the host, so that it can be changed or freed at once."""
    kind = element_type(args.type)
    dims = read_numbers(args.dims, args.num_dims)
    memory = client().memory_of(args.device, args.memory)
    order = layout_order(args.device_layout, dims, kind)
    if args.num_byte_strides:
        strides = read_numbers(args.byte_strides, args.num_byte_strides)
        given = _strided(args.data, dims, strides, kind.dtype)
    else:
        given = array_at(args.data, dims, kind, row_major(len(dims)).minor_to_major)
    args.buffer = buffer_with(given, args.type, memory, order)
    args.done_with_host_buffer = ready_event()


def _strided(
    data: int, dims: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype
) -> np.ndarray:
    """An array with strides, which may be negative, whose first element lies at an address."""
    if 0 in dims:
        return np.empty(dims, dtype)
    reach = [stride * (n - 1) for stride, n in zip(strides, dims, strict=True)]
    before = -sum(r for r in reach if r < 0)
    after = sum(r for r in reach if r > 0) + dtype.itemsize
    memory: Any = (ctypes.c_uint8 * (before + after)).from_address(data - before)
    return np.ndarray(dims, dtype, memory, before, strides)


@answers("PJRT_Buffer_ToHostBuffer")
def to_host(args: s.BufferToHostBuffer) -> None:
    """Copy a buffer into memory of the host, or say how much of that it takes."""
    array = array_of(args.src)
    if not args.dst:
        args.dst_size = array.nbytes
        return
    if args.dst_size < array.nbytes:
        message = f"{array.nbytes} bytes of a buffer to {args.dst_size} bytes of the host"
        raise PjrtError(ErrorCode.INVALID_ARGUMENT, message)
    buffer = records.BufferRecord.from_address(args.src)
    kind = element_type(buffer.type)
    order = layout_order(args.host_layout, array.shape, kind)
    if order is None:
        order = read_numbers(buffer.minor_to_major, buffer.rank)
    array_at(args.dst, array.shape, kind, order)[...] = array
    args.event = ready_event()


@answers("PJRT_Buffer_CopyRawToHost")
def raw_to_host(args: s.BufferCopyRawToHost) -> None:
    """Copy some of a buffer's bytes."""
    buffer = records.BufferRecord.from_address(args.buffer)
    array_of(args.buffer)  # or an error
    if not 0 <= args.offset <= args.offset + args.transfer_size <= buffer.bytes:
        message = f"bytes {args.offset} to {args.offset + args.transfer_size} of {buffer.bytes}"
        raise PjrtError(ErrorCode.OUT_OF_RANGE, message)
    ctypes.memmove(args.dst, buffer.data + args.offset, args.transfer_size)
    args.event = ready_event()


@answers("PJRT_Buffer_CopyToDevice")
def copy_to_device(args: s.BufferCopyToDevice) -> None:
    """Copy a buffer to the default memory of a device."""
    args.dst_buffer = _copy(args.buffer, client().by_handle[args.dst_device].memories[0].handle)


@answers("PJRT_Buffer_CopyToMemory")
def copy_to_memory(args: s.BufferCopyToMemory) -> None:
    """Copy a buffer to a memory."""
    args.dst_buffer = _copy(args.buffer, args.dst_memory)


def _copy(handle: int, memory: int) -> int:
    buffer = records.BufferRecord.from_address(handle)
    order = read_numbers(buffer.minor_to_major, buffer.rank)
    return buffer_with(array_of(handle), buffer.type, client().memories[memory], order)


@answers("PJRT_Client_CreateViewOfDeviceBuffer")
def view(args: s.ClientCreateViewOfDeviceBuffer) -> None:
    """A buffer in memory that somebody else owns: how arrays come in through DLPack."""
    kind = element_type(args.element_type)
    dims = read_numbers(args.dims, args.num_dims)
    memory = client().memory_of(args.device, args.memory)
    order = layout_order(args.layout, dims, kind)
    data = args.device_buffer_ptr
    args.buffer = new_buffer(args.element_type, dims, memory, order, data)
    made = records.BufferRecord.from_address(args.buffer)
    made.on_delete = args.on_delete_callback
    made.on_delete_arg = args.on_delete_callback_arg


@answers("PJRT_Client_CreateUninitializedBuffer")
def uninitialized(args: s.ClientCreateUninitializedBuffer) -> None:
    """A buffer whose elements may be anything."""
    dims = read_numbers(args.shape_dims, args.shape_num_dims)
    memory = client().memory_of(args.device, args.memory)
    order = layout_order(args.shape_layout, dims, element_type(args.shape_element_type))
    args.buffer = new_buffer(args.shape_element_type, dims, memory, order)


@answers("PJRT_Client_CreateBuffersForAsyncHostToDevice")
def to_be_filled(args: s.ClientCreateBuffersForAsyncHostToDevice) -> None:
    """Buffers that the shim fills piece by piece (`shim/transfers.c`)."""
    memory = client().memories[args.memory]
    specs = (ShapeSpec * args.num_shape_specs).from_address(args.shape_specs)
    layouts = read_numbers(args.device_layouts, args.num_device_layouts) or (0,) * len(specs)
    made: list[int] = []
    for spec, layout in zip(specs, layouts, strict=True):
        dims = read_numbers(spec.dims, spec.num_dims)
        order = layout_order(layout, dims, element_type(spec.element_type))
        made.append(new_buffer(spec.element_type, dims, memory, order))
    buffers = (ctypes.c_size_t * len(made))(*made)
    args.transfer_manager = shim().make_transfers(len(made), ctypes.addressof(buffers))
    if not args.transfer_manager:
        raise PjrtError(ErrorCode.RESOURCE_EXHAUSTED, f"no memory to fill {len(made)} buffers")
