"""CUDA C from HLO: emitted, compiled, and run on a GPU or on the processor.

The same CUDA C is tried in four ways: NVRTC compiles it to a cubin; `host` runs it on the processor
with a model of CUDA's threads; PyCUDA launches it, by a stand-in for the driver; and a GPU runs it.

Examples
--------
>>> import hlo, emit_cuda
>>> import numpy as np
>>> module = hlo.parse("ENTRY e { x = f32[2,3] parameter(0)  ROOT y = f32[2,3] negate(x) }")
>>> negate = emit_cuda.compile(module, device="host")  # without `device`: on a GPU
>>> negate(np.ones((2, 3), np.float32))
array([[-1., -1., -1.],
       [-1., -1., -1.]], dtype=float32)

The folders, in the order in which they are best read: `code` (names, and the functions that kernels
call), `opcodes` and `table` (CUDA's exceptions from what all emitters share), `loops` and `grids`
(the writers of kernels), `kernels` (which writer is asked for an instruction; kernels that do the
work of several), `program` (a whole module: steps, memory, control flow), `devices`, `host` and
`gpu` (where it runs).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Literal

import optimizer
from codegen.subnormals import flushes_on_gpus
from emit_cuda.divided import DevicesExecutable
from emit_cuda.executable import CudaExecutable, DynamicCudaExecutable
from emit_cuda.gpu.shared import shared_gpu
from emit_cuda.host.bounds import refuse_too_much
from emit_cuda.host.device import HostDevice
from emit_cuda.libraries import Libraries, carrying
from emit_cuda.libraries import libraries as find_libraries
from emit_cuda.program.emit import CudaProgram, emit
from emit_cuda.table import emits_cuda
from hlo.backend import without_donations
from hlo.errors.error import HloError
from hlo.support.dlpack import CUDA
from hlo.support.garbage import no_collection
from hlo.verify import Sound, trust, verify
from interpreter.engine.memory import refuse_elided
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from codegen.subnormals import Subnormals
    from emit_cuda.devices import CudaDevice
    from emit_cuda.grids.kernel import Schedule
    from hlo.instruction import Module

__all__ = [
    "CudaExecutable",
    "CudaProgram",
    "compile",
    "device_named",
    "emit",
    "emits_cuda",
    "optimized",
]


@no_collection()
def compile(  # noqa: A001 - so it is named
    module: Module,
    device: Literal["gpu", "host"] | CudaDevice = "gpu",
    *,
    optimize: bool = True,
    checked: bool = False,
    donate: bool = False,
    libraries: Libraries | bool = True,
    subnormals: Subnormals | None = None,
    schedule: Schedule | None = None,
) -> CudaExecutable:
    """Verify, optimize, emit and compile a module, and load it on a device.

    Parameters
    ----------
    module : for one device, or for several.
    device : "gpu" runs the kernels on the GPU, "host" on the processor; or an object that runs
        kernels, such as `GpuDevice` or `HostDevice`.
    optimize : run the standard pipeline for a GPU first; without it, the code follows the module
        instruction by instruction.
    checked : on the processor, watch every access of every kernel.
    donate : let results take the memory of those arguments that the module's `input_output_alias`
        names.
    libraries : those that may be called in the place of kernels; True for all of NVIDIA's on a
        GPU, False for none.
    subnormals : "flush": kernels take subnormal numbers of f32 for zeros, on the processor also
        those of f64; "keep": they don't. None takes the word of `$PYHLO_SUBNORMALS`; else they are
        kept, as XLA's code for GPUs keeps them unless `$XLA_FLAGS` has `--xla_gpu_ftz`.
    schedule : of the user's own: see `emit`.

    Returns
    -------
    CudaExecutable
        a function of the module's arguments, as NumPy arrays, that returns NumPy arrays. Of a
        module for several devices, `executable(per_device=[...])` runs it on all of them.

    Raises
    ------
    HloError
        HLO020 to HLO099 if the module is not well-formed, HLO180 if there is no compiler, HLO181 if
        an instruction can't be emitted, HLO190 if the compiler refuses the code, HLO194 if
        there is no GPU, or one for each device; HLO195 if they have no way to exchange arrays;
        HLO204 for another word of `subnormals`.
    """
    flushes = flushes_on_gpus(subnormals)
    sound = Sound()
    verify(module, sound)
    refuse_elided(module)
    module = module if donate else without_donations(module)
    runs_on = device_named(device, checked=checked)
    if isinstance(libraries, bool):
        libraries = (
            find_libraries() if libraries and runs_on.dlpack_device[0] == CUDA else Libraries()
        )
    grid = module.header.replica_count, module.header.num_partitions
    compiled = _Compilation(module, runs_on, libraries, optimize, flushes, sound, schedule)
    return compiled.alone() if prod(grid) == 1 else compiled.together(grid)


@dataclass(frozen=True)
class _Compilation:
    """A sound module on its way to a device.

    Parameters
    ----------
    optimize, libraries, schedule : as of `compile`.
    flushes : subnormal numbers become zeros.
    sound : instructions that are known to be well-formed.
    """

    module: Module
    device: CudaDevice
    libraries: Libraries
    optimize: bool
    flushes: bool
    sound: Sound
    schedule: Schedule | None = None

    def alone(self) -> CudaExecutable:
        """The module on one device."""
        program = self._emitted(trust(prepare(self._optimized(), "gpu")))
        if is_dynamic(self.module):
            return DynamicCudaExecutable(
                self.module,
                program.module.entry,
                program,
                self.device,
                self.libraries,
                flushes=self.flushes,
            )
        return CudaExecutable(
            self.module.entry,
            program,
            self.device,
            libraries=self.libraries,
            flushes=self.flushes,
        )

    def together(self, grid: tuple[int, int]) -> DevicesExecutable:
        """The module on all devices that it is for.

        Raises
        ------
        HloError
            HLO181 if it has run-time sizes, HLO194 if there are too few GPUs, HLO195 if they have
            no way to exchange arrays.
        """
        if is_dynamic(self.module):
            message = f"{self.module.name} has run-time sizes, and is for several devices"
            raise HloError("HLO181", message, self.module.span)
        devices = self.device.peers(prod(grid))
        libraries = self.libraries
        if libraries.nccl is None and self.device.dlpack_device[0] == CUDA:
            libraries = replace(libraries, nccl=carrying().nccl)
        prepared = prepare(self._optimized(), "gpu", is_alone=False)
        program = self._emitted(trust(prepared), libraries, grid)
        return DevicesExecutable(
            self.module, program, devices, libraries, self.alone, flushes=self.flushes
        )

    def _optimized(self) -> Module:
        return optimized(self.module, self.sound) if self.optimize else self.module

    def _emitted(
        self, module: Module, libraries: Libraries | None = None, grid: tuple[int, int] = (1, 1)
    ) -> CudaProgram:
        if isinstance(self.device, HostDevice):
            refuse_too_much(module, checked=self.device.checked)
        called, most = libraries or self.libraries, self.device.most_shared
        return emit(module, None, called, most, grid, self.schedule)


def optimized(module: Module, sound: Sound | None = None) -> Module:
    """The module that `compile` emits, if it is for one device and has no dynamic sizes."""
    result = optimizer.optimize(module, target="gpu", observers=())
    verify(result, sound)
    return result


def device_named(device: str | CudaDevice, *, checked: bool = False) -> CudaDevice:
    """A device, by `compile`'s name of it.

    Raises
    ------
    HloError
        HLO194 if there is none.
    """
    if device == "host":
        return HostDevice(checked=checked)
    if device == "gpu":
        return shared_gpu()
    if isinstance(device, str):
        message = f"there is no device {device!r}: there are gpu and host"
        raise HloError("HLO194", message)
    return device
