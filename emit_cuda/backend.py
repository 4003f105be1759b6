"""CUDA as two backends: kernels on a GPU, and the same kernels on the processor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import emit_cuda
from emit_cuda.host.device import HostDevice
from emit_cuda.profile import profile
from hlo.backend import Backend, ModuleCompiler, ModuleExecutable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.subnormals import Subnormals
    from emit_cuda.executable import CudaExecutable
    from emit_cuda.profile import CudaProfile
    from hlo.instruction import Module


class CudaModule(ModuleExecutable):
    """A module as kernels. Arguments are copied to the device in each call, and results back."""

    def __init__(self, module: Module, executable: CudaExecutable) -> None:
        super().__init__(module, executable)
        self.code_bytes = len(executable.source)


class GpuCompiler(ModuleCompiler):
    """Compiles kernels for the GPU."""

    def compile(
        self, module: Module, *, libraries: bool = True, subnormals: Subnormals | None = None
    ) -> CudaModule:
        """The module's kernels on a GPU.

        Parameters
        ----------
        libraries : call those of NVIDIA in the place of kernels.
        subnormals : as of `emit_cuda.compile`.

        Raises
        ------
        HloError
            as `emit_cuda.compile`; HLO194 if there is no GPU.
        """
        return CudaModule(
            module,
            emit_cuda.compile(
                module, "gpu", libraries=libraries, donate=True, subnormals=subnormals
            ),
        )


class HostCompiler(ModuleCompiler):
    """Compiles kernels for the processor, with a model of a GPU's threads."""

    def compile(
        self,
        module: Module,
        *,
        checked: bool = False,
        seed: int = 0,
        subnormals: Subnormals | None = None,
    ) -> CudaModule:
        """The module's kernels on the processor.

        Parameters
        ----------
        checked : watch every access to memory.
        seed : of the order in which threads and blocks run; 0 leaves them in order.
        subnormals : as of `emit_cuda.compile`.

        Raises
        ------
        HloError
            as `emit_cuda.compile`; in a call, HLO193 if a checked kernel makes a mistake.
        """
        device = HostDevice(checked=checked, seed=seed)
        made = emit_cuda.compile(module, device, donate=True, subnormals=subnormals)
        return CudaModule(module, made)


def _profiled(
    device: Literal["gpu", "host"], module: Module, arguments: Sequence[Any]
) -> CudaProfile:
    optimized = emit_cuda.optimized(module)
    return profile(optimized, arguments, emit_cuda.device_named(device))


BACKENDS: Final = {
    "cuda": Backend(
        "cuda",
        GpuCompiler(),
        summary="emitted as CUDA C, run on a GPU",
        offers={"profile": partial(_profiled, "gpu")},
    ),
    "cuda-host": Backend(
        "cuda-host",
        HostCompiler(),
        summary="the same CUDA C, run on the processor with a model of its threads",
        offers={"profile": partial(_profiled, "host")},
    ),
}
