"""CUDA as two backends: kernels on a GPU, and the same kernels on the processor."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import emit_cuda
from emit_cuda.host.device import HostDevice
from emit_cuda.profile import profile
from hlo.backend import Backend, ModuleCompiler, ModuleExecutable
from optimizer.partitioning.divided import DividedModule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.subnormals import Subnormals
    from emit_cuda.executable import CudaExecutable
    from emit_cuda.grids.kernel import Schedule
    from emit_cuda.profile import CudaProfile
    from hlo.instruction import Module


class UserSchedule(Protocol):
    """A schedule of the user's own, as a front end gives it."""

    run: Schedule


class CudaModule(ModuleExecutable):
    """A module as kernels, for as many replicas as it is called with.

    Arguments are copied to the devices in each call, and results back.
    """

    def __init__(self, module: Module, compiled: Callable[[Module], CudaExecutable]) -> None:
        self._divided = divided = DividedModule(module)

        @cache
        def for_replicas(count: int) -> CudaExecutable:
            return compiled(divided.for_replicas(count))

        self._compiled = for_replicas
        first = self._compiled(divided.module.header.replica_count)
        super().__init__(module, first)
        self.code_bytes = len(first.source)

    def run(self, per_device: Sequence[Sequence[Any]]) -> list[Any]:
        """The value on each device; all of them run together."""
        dealt, replicas = self._divided.dealt(per_device)
        return self._compiled(replicas)(per_device=dealt)[: len(per_device)]


class GpuCompiler(ModuleCompiler):
    """Compiles kernels for the GPU."""

    def compile(
        self,
        module: Module,
        *,
        libraries: bool = True,
        subnormals: Subnormals | None = None,
        schedule: UserSchedule | None = None,
    ) -> CudaModule:
        """The module's kernels on a GPU, or on one for each device.

        Parameters
        ----------
        libraries : call those of NVIDIA in the place of kernels.
        subnormals, schedule : as of `emit_cuda.compile`.

        Raises
        ------
        HloError
            as `emit_cuda.compile`; HLO194 if there is no GPU.
        """
        compiled = partial(
            emit_cuda.compile,
            device="gpu",
            libraries=libraries,
            donate=True,
            subnormals=subnormals,
            schedule=schedule.run if schedule else None,
        )
        return CudaModule(module, compiled)


class HostCompiler(ModuleCompiler):
    """Compiles kernels for the processor, with a model of a GPU's threads."""

    def compile(
        self,
        module: Module,
        *,
        checked: bool = False,
        seed: int = 0,
        subnormals: Subnormals | None = None,
        schedule: UserSchedule | None = None,
    ) -> CudaModule:
        """The module's kernels on the processor.

        Parameters
        ----------
        checked : watch every access to memory.
        seed : of the order in which threads and blocks run; 0 leaves them in order.
        subnormals, schedule : as of `emit_cuda.compile`.

        Raises
        ------
        HloError
            as `emit_cuda.compile`; in a call, HLO193 if a checked kernel makes a mistake.
        """
        device = HostDevice(checked=checked, seed=seed)
        compiled = partial(
            emit_cuda.compile,
            device=device,
            donate=True,
            subnormals=subnormals,
            schedule=schedule.run if schedule else None,
        )
        return CudaModule(module, compiled)


def _profiled(
    device: Literal["gpu", "host"],
    module: Module,
    arguments: Sequence[Any],
    schedule: UserSchedule | None = None,
) -> CudaProfile:
    optimized, own = emit_cuda.optimized(module), schedule.run if schedule else None
    return profile(optimized, arguments, emit_cuda.device_named(device), schedule=own)


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
