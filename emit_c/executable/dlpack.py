"""Arrays of other libraries, through DLPack: the same memory as a NumPy array.

NumPy reads DLPack itself, but not the element types that it lacks: bfloat16 and the small floats
are read here, as ml_dtypes.

References
----------
dmlc/dlpack, `include/dlpack/dlpack.h`, version 1.1.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# DLDataTypeCode, for elements of one byte or, bfloat16, of two.
_CODES: dict[tuple[int, int], Any] = {
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
_CPU = 1


class _Tensor(ctypes.Structure):
    """DLTensor."""

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
        return from_capsule(array.__dlpack__())


def from_capsule(capsule: Any) -> NDArray[Any]:
    """The tensor in a capsule, which stays in charge of the memory and lives as long as the array.

    Raises
    ------
    HloError
        HLO112 as `from_dlpack`.
    """
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.POINTER(_Tensor)
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    tensor = pointer_of(capsule, b"dltensor").contents
    kind = _CODES.get((tensor.code, tensor.bits))
    if tensor.device_type != _CPU or kind is None or tensor.lanes != 1:
        what = f"type {tensor.code}, {tensor.bits} bits, device {tensor.device_type}"
        raise HloError("HLO112", f"a DLPack tensor that C can't read: {what}")
    dtype = np.dtype(kind)
    dims = [tensor.dims[d] for d in range(tensor.rank)]
    steps = [tensor.strides[d] * dtype.itemsize for d in range(tensor.rank)]
    reach = sum(s * (n - 1) for s, n in zip(steps, dims, strict=True)) + dtype.itemsize
    if not tensor.strides or 0 in dims:
        steps, reach = None, int(np.prod(dims)) * dtype.itemsize
    memory: Any = (ctypes.c_uint8 * reach).from_address((tensor.data or 0) + tensor.offset)
    memory.capsule = capsule
    return np.ndarray(dims, dtype, memory, strides=steps)
