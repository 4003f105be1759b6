"""Kernels on a GPU, through NVIDIA's driver: memory, streams, launches, graphs.

`device` is the only file that talks to PyCUDA, `graphs` adds by ctypes the part of the driver that
PyCUDA leaves out.
"""

from emit_cuda.gpu.device import GpuDevice, GpuKernels, missing
from emit_cuda.gpu.shared import shared_gpu

__all__ = ["GpuDevice", "GpuKernels", "missing", "shared_gpu"]
