"""CUDA C on the processor: blocks, threads, warps and barriers, without a GPU.

    library = emit_cuda.host.compile(source)
    library.launch("add_kernel", (4, 1, 1), (128, 1, 1), 0, (x.ctypes.data, np.int32(500)))

The files, in the order in which they are best read: `cuda_on_host.h` and `cuda/` (CUDA's names),
`threads.cpp` (how threads run), `checker.cpp` (checked mode), `compiling`, `findings`, `library`,
`device` (the same verbs as a GPU has).
"""

from emit_cuda.devices import NamedMemory
from emit_cuda.host.device import HostDevice, HostKernels, raise_findings
from emit_cuda.host.findings import FAULTS, Finding, Spot
from emit_cuda.host.library import HostLibrary
from emit_cuda.host.library import load as compile  # noqa: A004 - so it is named

__all__ = [
    "FAULTS",
    "Finding",
    "HostDevice",
    "HostKernels",
    "HostLibrary",
    "NamedMemory",
    "Spot",
    "compile",
    "raise_findings",
]
