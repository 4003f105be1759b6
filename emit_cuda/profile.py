"""The times of a module's launches, beside the least time that a GPU needs for each.

On a GPU each launch is between two events of its stream, and no graph is recorded. On the
processor it is the model of threads that takes the time, which tells nothing of a GPU; the least
times, the *roofline*, are of the GPU that is named.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codegen.program.steps import Launch
from codegen.subnormals import flushes_on_gpus
from emit_cuda.devices import Kernels
from emit_cuda.executable import CudaExecutable
from emit_cuda.launches import estimates
from emit_cuda.nvrtc import most_shared
from emit_cuda.program.emit import emit
from hlo.support.dlpack import CUDA
from optimizer.gpu.device import A100
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_cuda.devices import CudaDevice, GridCall
    from emit_cuda.grids.kernel import Schedule
    from hlo.instruction import Module
    from optimizer.gpu.device import DeviceRates


@dataclass(frozen=True, slots=True)
class Timed:
    """The measured seconds of a launch, and its instruction."""

    kernel: str
    about: str
    seconds: float


@dataclass(frozen=True, slots=True)
class KernelTimes:
    """All launches of a kernel for an instruction.

    Attributes
    ----------
    kind : of kernel.
    seconds, least_seconds : of all of them together, measured and by the roofline.
    bound : the resource that the least time is spent on.
    """

    kernel: str
    kind: str
    about: str
    calls: int
    seconds: float
    least_seconds: float
    bytes: int
    bound: str


@dataclass(frozen=True)
class TimedKernels(Kernels):
    """Kernels of which every launch is timed."""

    device: CudaDevice
    kernels: Kernels
    times: list[Timed] = field(default_factory=list[Timed])

    def run(self, call: GridCall) -> None:
        """Let a kernel run, and wait for it."""
        seconds = self.device.timed(lambda: self.kernels.run(call), call.stream)
        self.times.append(Timed(call.kernel, call.purpose.instruction, seconds))


@dataclass(frozen=True, slots=True)
class CudaProfile:
    """A run of a module.

    Attributes
    ----------
    value : the module's.
    times : the launches of the run, in order.
    least : for a kernel and an instruction, a launch's kind, least seconds, bytes and bound.
    gpu : whose roofline that is.
    on_gpu : whether a GPU ran it, or the processor.
    """

    value: Any
    times: tuple[Timed, ...]
    least: dict[tuple[str, str], tuple[str, float, int, str]]
    gpu: DeviceRates
    on_gpu: bool

    def rows(self) -> list[KernelTimes]:
        """The launches by kernel and instruction, the longest first."""
        times: dict[tuple[str, str], list[float]] = {}
        for time in self.times:
            times.setdefault((time.kernel, time.about), []).append(time.seconds)
        rows: list[KernelTimes] = []
        for (kernel, about), seconds in times.items():
            kind, least, moved, bound = self.least.get((kernel, about), ("", 0.0, 0, ""))
            n = len(seconds)
            rows.append(
                KernelTimes(kernel, kind, about, n, sum(seconds), n * least, n * moved, bound)
            )
        return sorted(rows, key=lambda row: -row.seconds)

    def trace(self) -> str:
        """The launches in Chrome's trace format, as measured, and as the roofline predicts them."""
        events: list[dict[str, Any]] = []
        begin = [0.0, 0.0]
        for time in self.times:
            least = self.least.get((time.kernel, time.about), ("", 0.0, 0, ""))[1]
            for track, seconds in enumerate((time.seconds, least)):
                events.append({
                    "name": time.kernel, "ph": "X", "pid": 1, "tid": track,
                    "ts": begin[track] * 1e6, "dur": seconds * 1e6,
                    "args": {"instruction": time.about},
                })  # fmt: skip
                begin[track] += seconds
        names = ("measured", f"simulated: {self.gpu.name}")
        events += [
            {"name": "thread_name", "ph": "M", "pid": 1, "tid": track, "args": {"name": name}}
            for track, name in enumerate(names)
        ]
        return json.dumps({"traceEvents": events})


def profile(
    module: Module,
    arguments: Sequence[Any],
    device: CudaDevice,
    gpu: DeviceRates = A100,
    *,
    schedule: Schedule | None = None,
) -> CudaProfile:
    """Run an optimized module twice, and take the times of the second run.

    Parameters
    ----------
    gpu : whose least times are told.
    schedule : of the user's own: see `emit`.

    Raises
    ------
    HloError
        as a call of an executable.
    """
    program = emit(
        prepare(module, "gpu"),
        most_shared=min(device.most_shared, most_shared(gpu.architecture)),
        schedule=schedule,
    )
    kernels = TimedKernels(device, device.load(program.source, flushes=flushes_on_gpus()))
    executable = CudaExecutable(module.entry, program, device, kernels, graphs=False)
    executable(*arguments)
    kernels.times.clear()
    value = executable(*arguments)
    least = {
        (row.name, row.step.about): (row.step.kind, row.seconds, row.bytes, row.bound)
        for row in reversed(estimates(program, gpu))
        if isinstance(row.step, Launch)
    }
    return CudaProfile(
        value, tuple(kernels.times), least, gpu, on_gpu=device.dlpack_device[0] == CUDA
    )
