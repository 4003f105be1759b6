"""Cooperative launches, of which PyCUDA has none: their blocks may wait for each other.

The driver promises that all blocks are there at once, and refuses a grid of more than there can be.
PyCUDA does not tell the driver's handles of modules, so the file is loaded once more.

References
----------
NVIDIA, *CUDA Driver API*, Execution Control: `cuLaunchCooperativeKernel`; Occupancy.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from emit_cuda.gpu.graphs import call, driver

if TYPE_CHECKING:
    import numpy as np

    from codegen.program.steps import Dim3
    from emit_cuda.devices import CudaDevice

# The driver's number of an attribute of a device.
_MULTIPROCESSORS = 16


class DriverModule:
    """A module that the driver has loaded in the context of a device, which is the current one."""

    def __init__(self, code: bytes, device: CudaDevice) -> None:
        self._handle, self._device = ctypes.c_void_p(), device
        call("cuModuleLoadData", ctypes.byref(self._handle), ctypes.create_string_buffer(code))

    def __del__(self) -> None:
        """Give the module back; with its context it has ended already."""
        if not getattr(self._device, "closed", True):
            with self._device.current():
                driver().cuModuleUnload(self._handle)

    def function(self, symbol: str) -> CooperativeFunction:
        """A kernel of the module."""
        handle = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(handle), self._handle, symbol.encode())
        return CooperativeFunction(handle)


@dataclass(frozen=True, slots=True)
class CooperativeFunction:
    """A kernel that is launched as PyCUDA launches others."""

    handle: ctypes.c_void_p

    def __call__(
        self, *values: np.generic, grid: Dim3, block: Dim3, shared: int, stream: Any
    ) -> None:
        """Launch as many blocks as are asked for, or fewer along x if not all can be there.

        Raises
        ------
        HloError
            HLO192 if the driver reports an error.
        """
        grid = (min(grid[0], _blocks_at_once(self.handle, prod(block), shared)), *grid[1:])
        boxes = [ctypes.create_string_buffer(value.tobytes()) for value in values]
        pointers = (ctypes.c_void_p * len(boxes))(*map(ctypes.addressof, boxes))
        sizes = map(ctypes.c_uint, (*grid, *block, shared))
        where = ctypes.c_void_p(stream.handle)
        call("cuLaunchCooperativeKernel", self.handle, *sizes, where, pointers)


def _blocks_at_once(function: ctypes.c_void_p, threads: int, shared: int) -> int:
    """The blocks of a function that the current GPU holds at once."""
    device, count, per_multiprocessor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    call("cuCtxGetDevice", ctypes.byref(device))
    call("cuDeviceGetAttribute", ctypes.byref(count), ctypes.c_int(_MULTIPROCESSORS), device)
    block = ctypes.c_int(threads), ctypes.c_size_t(shared)
    occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
    call(occupancy, ctypes.byref(per_multiprocessor), function, *block)
    return count.value * per_multiprocessor.value
