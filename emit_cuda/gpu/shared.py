"""The GPU that all executables of a process share, unless they name another."""

from __future__ import annotations

from emit_cuda.gpu.device import GpuDevice

_shared: list[GpuDevice] = []


def shared_gpu() -> GpuDevice:
    """The first GPU; it is opened anew after it was closed.

    A context takes longer to make than a small module to compile, so each process makes one.

    Raises
    ------
    HloError
        HLO194 if there is no GPU, no driver or no PyCUDA.
    """
    if not _shared or _shared[0].closed:
        _shared[:] = [GpuDevice()]
    return _shared[0]
