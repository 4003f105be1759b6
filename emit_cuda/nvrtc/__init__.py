"""CUDA C to PTX, cubins and SASS, by NVIDIA's run-time compiler: no GPU, no toolkit, two wheels.

cubin = emit_cuda.nvrtc.compile(source, "sm_90")
cubin.code, cubin.usage["add_kernel"].registers
"""

from emit_cuda.nvrtc.compiling import Compiled, Usage, ptx
from emit_cuda.nvrtc.compiling import cubin as compile  # noqa: A004 - so it is named
from emit_cuda.nvrtc.library import missing
from emit_cuda.nvrtc.occupancy import MOST_SHARED_BYTES, Occupancy, most_shared, occupancy
from emit_cuda.nvrtc.sass import sass

__all__ = [
    "MOST_SHARED_BYTES",
    "Compiled",
    "Occupancy",
    "Usage",
    "compile",
    "missing",
    "most_shared",
    "occupancy",
    "ptx",
    "sass",
]
