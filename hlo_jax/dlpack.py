"""Arrays that come and go through DLPack: private functions of JAX, as in `private`."""

from __future__ import annotations

import ctypes
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from hlo_jax.private.versions import PLATFORM

# The alignment that compiled code expects of arrays, in bytes.
ALIGNMENT = 16


def share_by_dlpack() -> None:
    """Let arrays come and go through DLPack without copies.

    jaxlib knows by the names of platforms whose memory is the host's: CPU's. Outwards, a NumPy
    array that looks at the same memory goes in the array's place. Inwards, JAX has a table of the
    platforms that take the memory of a kind of device; the host's memory comes to PyHLO if that is
    the first platform.
    """
    dlpack, kind = import_module("jax._src.dlpack"), import_module("jax._src.array").ArrayImpl
    if (import_module("jax").config.jax_platforms or "").startswith(PLATFORM):
        dlpack._DL_DEVICE_TO_PLATFORM[dlpack.DLDeviceType.kDLCPU] = PLATFORM
    capsule_of, device_of = kind.__dlpack__, kind.__dlpack_device__

    def to_dlpack(array: Any, **options: Any) -> Any:
        if array.platform() != PLATFORM:
            return capsule_of(array, **options)
        options["max_version"] = options.get("max_version") or (1, 0)
        return np.asarray(array).__dlpack__(**options)

    def dlpack_device(array: Any) -> Any:
        if array.platform() != PLATFORM:
            return device_of(array)
        return dlpack.DLDeviceType.kDLCPU, 0

    kind.__dlpack__, kind.__dlpack_device__ = to_dlpack, dlpack_device
    _copy_what_cannot_be_shared(dlpack)


def _copy_what_cannot_be_shared(dlpack: Any) -> None:
    """Let `from_dlpack` copy where it is asked to, or where memory is not aligned.

    jaxlib makes such copies by a way that PJRT does not have; NumPy's are as good.
    """
    native = dlpack._jax

    def to_buffer(capsule: Any, device: Any, stream: Any, copy: bool | None, *more: Any) -> Any:
        if device.platform != PLATFORM:
            return native.dlpack_managed_tensor_to_buffer(capsule, device, stream, copy, *more)
        aligned = _address(capsule) % ALIGNMENT == 0
        if aligned and not copy:
            return native.dlpack_managed_tensor_to_buffer(capsule, device, stream, False, *more)
        if copy is False:
            raise native.JaxRuntimeError(f"the buffer is not aligned to {ALIGNMENT} bytes.")
        return import_module("jax").device_put(np.array(np.from_dlpack(_Capsule(capsule))), device)

    dlpack._jax = SimpleNamespace(**vars(native))
    dlpack._jax.dlpack_managed_tensor_to_buffer = to_buffer


def _address(capsule: Any) -> int:
    """The address of a capsule's array: DLTensor's members `data` and `byte_offset`."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    members = (ctypes.c_size_t * 6).from_address(get(capsule, b"dltensor") or 0)
    return members[0] + members[5]


class _Capsule:
    """A capsule of DLPack, as NumPy takes it."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the host's memory
