"""Arrays of other libraries, through DLPack: the same memory, in both directions.

NumPy reads DLPack itself, but not the element types that it lacks: bfloat16 and the small floats
are read here, as ml_dtypes. Memory of a GPU is only passed on, never looked at.

References
----------
dmlc/dlpack, `include/dlpack/dlpack.h`, version 1.1.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CPU, CUDA = 1, 2
# The element types, by DLDataTypeCode and bits.
_CODES: dict[tuple[int, int], Any] = {
    **{(0, bits): f"int{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    **{(5, bits): f"complex{bits}" for bits in (64, 128)},
    (6, 8): "bool",
    (4, 16): ml_dtypes.bfloat16,
    (7, 8): ml_dtypes.float8_e3m4,
    (8, 8): ml_dtypes.float8_e4m3,
    (9, 8): ml_dtypes.float8_e4m3b11fnuz,
    (10, 8): ml_dtypes.float8_e4m3fn,
    (11, 8): ml_dtypes.float8_e4m3fnuz,
    (12, 8): ml_dtypes.float8_e5m2,
    (13, 8): ml_dtypes.float8_e5m2fnuz,
    (14, 8): ml_dtypes.float8_e8m0fnu,
}
_NUMBERS = {np.dtype(kind): code for code, kind in _CODES.items()}
_NAME, _USED = b"dltensor", b"used_dltensor"


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


@dataclass(frozen=True, slots=True)
class Tensor:
    """Memory of another library.

    Attributes
    ----------
    address : of the first element.
    strides : in bytes; None where elements lie in row-major order without gaps.
    device : its kind, `CPU` or `CUDA`, and its number.
    owner : is in charge of the memory, and keeps it alive.
    """

    address: int
    dims: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    device: tuple[int, int]
    owner: Any


def from_dlpack(array: Any) -> NDArray[Any]:
    """An array of another library as a NumPy array, without a copy.

    Raises
    ------
    HloError
        HLO112 if it is not in the memory of the CPU, or its elements have a type that HLO lacks.
    """
    try:
        return np.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return as_numpy(from_capsule(array.__dlpack__()))


def from_capsule(capsule: Any) -> Tensor:
    """The tensor in a capsule, which stays in charge of the memory.

    Raises
    ------
    HloError
        HLO112 if its elements have a type that HLO lacks.
    """
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.POINTER(_DLTensor)
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    tensor = pointer_of(capsule, _NAME).contents
    kind = _CODES.get((tensor.code, tensor.bits))
    if kind is None or tensor.lanes != 1:
        element = f"type {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes"
        raise HloError("HLO112", f"a DLPack tensor whose elements HLO lacks: {element}")
    dtype = np.dtype(kind)
    dims = tuple(tensor.dims[d] for d in range(tensor.rank))
    steps = None
    if tensor.strides and 0 not in dims:
        steps = tuple(tensor.strides[d] * dtype.itemsize for d in range(tensor.rank))
        if steps == in_order(dims, dtype.itemsize):
            steps = None
    address = (tensor.data or 0) + tensor.offset
    device = tensor.device_type, tensor.device_id
    return Tensor(address, dims, steps, dtype, device, capsule)


def in_order(dims: Sequence[int], size: int) -> tuple[int, ...]:
    """The strides, in bytes, of elements in row-major order."""
    return tuple(size * prod(dims[d + 1 :]) for d in range(len(dims)))


def to_capsule(tensor: Tensor) -> Any:
    """A capsule that another library may take the memory from; the owner lives until it is done.

    Parameters
    ----------
    tensor : in row-major order, without gaps.

    Raises
    ------
    BufferError
        if DLPack has no such element type.
    """
    if tensor.dtype not in _NUMBERS:
        raise BufferError(f"DLPack has no elements of type {tensor.dtype}")
    code, bits = _NUMBERS[tensor.dtype]
    rank = len(tensor.dims)
    dims = (ctypes.c_int64 * max(rank, 1))(*tensor.dims)
    steps = (s // tensor.dtype.itemsize for s in in_order(tensor.dims, tensor.dtype.itemsize))
    strides = (ctypes.c_int64 * max(rank, 1))(*steps)
    plain = _DLTensor(tensor.address, *tensor.device, rank, code, bits, 1, dims, strides, 0)
    managed = _Managed(plain, None, ctypes.cast(_delete, ctypes.c_void_p))
    address = ctypes.addressof(managed)
    _lent[address] = managed, dims, strides, tensor.owner
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, _NAME, ctypes.cast(_forget, ctypes.c_void_p))


# Objects lent to other libraries, by the addresses of the structures that these were given.
_lent: dict[int, Any] = {}


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _delete(managed: int) -> None:
    """Drop an exported array, whose memory its consumer needs no more."""
    _lent.pop(managed, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _forget(capsule: int) -> None:
    """Release the memory of a capsule that nobody consumed."""
    is_valid, pointer_of = _dying("PyCapsule_IsValid", ctypes.c_int), _dying("PyCapsule_GetPointer")
    if is_valid(capsule, _NAME):
        _lent.pop(pointer_of(capsule, _NAME), None)


def _dying(function: str, result: Any = ctypes.c_void_p) -> Any:
    """A function on a capsule whose references are counted no more."""
    kind = ctypes.PYFUNCTYPE(result, ctypes.c_void_p, ctypes.c_char_p)
    return kind((function, ctypes.pythonapi))


def as_numpy(tensor: Tensor) -> NDArray[Any]:
    """A tensor as an array, in whose life the capsule lives.

    Raises
    ------
    HloError
        HLO112 if it is not in the memory of the CPU.
    """
    if tensor.device[0] != CPU:
        message = f"a DLPack tensor that is not in the CPU's memory: device {tensor.device[0]}"
        raise HloError("HLO112", message)
    dims, steps, size = tensor.dims, tensor.strides, tensor.dtype.itemsize
    strides = steps or in_order(dims, size)
    reach = (
        sum(s * (n - 1) for s, n in zip(strides, dims, strict=True)) + size if 0 not in dims else 0
    )
    memory: Any = (ctypes.c_uint8 * reach).from_address(tensor.address)
    memory.capsule = tensor.owner
    return np.ndarray(dims, tensor.dtype, memory, strides=steps)
