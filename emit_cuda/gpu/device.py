"""A GPU as a device: PyCUDA's memory pool, stream, page-locked staging and launches.

All work of a device is on one stream, in the order in which it was asked for; nothing waits until
something is read. Memory that is freed goes back to the pool at once, since what comes next on the
stream comes after its last use.

PyCUDA is imported when a device is made, and nowhere else: it is an extra, and needs a driver.

References
----------
A. Klöckner and others, *PyCUDA*, the documentation; NVIDIA, *CUDA Driver API*.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_cuda import nvrtc
from emit_cuda.gpu.graphs import Graph, capturing
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from numpy.typing import NDArray

    from emit_cuda.devices import Dim3
    from emit_cuda.nvrtc import Compiled

    # Makes a file of CUDA C into something that the driver loads, for an architecture.
    Compiler = Callable[[str, str, str], Compiled]

# What still works where there is no GPU.
WITHOUT_GPU = (
    "`hlo run --platform cuda-host` runs the same kernels on the processor",
    "`hlo opt --stage cuda` shows them, `--stage ptx` what NVRTC makes of them",
)
# Larger arrays are copied without staging, in steps that the driver chooses.
STAGED_BYTES = 32 << 20
# Of shared memory, what a block may ask for without having said so before.
USUAL_SHARED = 48 << 10


def missing() -> str:
    """Why there is no GPU to run on; empty if there is one."""
    try:
        driver = import_module("pycuda.driver")
    except ImportError as error:
        if error.name == "pycuda":
            return "PyCUDA is not installed: pip install 'pyhlo[cuda]'"
        return f"NVIDIA's driver is missing: {error}"
    try:
        driver.init()
        return "" if driver.Device.count() else "the driver finds no GPU"
    except driver.Error as error:
        return f"NVIDIA's driver does not start: {error}"


def _nvrtc(source: str, architecture: str, name: str) -> Compiled:
    return nvrtc.compile(source, architecture, name=name)


@dataclass(slots=True)
class _Staged:
    """Page-locked memory whose copy may still go on."""

    array: NDArray[np.uint8]
    event: Any


class GpuDevice:
    """A GPU.

    Parameters
    ----------
    ordinal : which, from 0.
    blocking : wait for every launch, so that an error names the kernel that made it.
    compiler : makes a cubin of a file; NVRTC.

    Raises
    ------
    HloError
        HLO194 if there is no GPU, no driver or no PyCUDA.
    """

    def __init__(
        self, ordinal: int = 0, *, blocking: bool = False, compiler: Compiler = _nvrtc
    ) -> None:
        if reason := missing():
            raise HloError("HLO194", f"no GPU: {reason}", notes=WITHOUT_GPU)
        driver = import_module("pycuda.driver")
        if not 0 <= ordinal < driver.Device.count():
            message = f"no GPU {ordinal}: there are {driver.Device.count()}"
            raise HloError("HLO194", message, notes=WITHOUT_GPU)
        self._driver, self._compiler, self._blocking = driver, compiler, blocking
        gpu = driver.Device(ordinal)
        self.name: str = gpu.name()
        major, minor = gpu.compute_capability()
        self.architecture = f"sm_{major}{minor}"
        # The primary context is the one that cuBLAS, JAX and CuPy use too.
        self._context = gpu.retain_primary_context()
        tools = import_module("pycuda.tools")
        with self.current():
            self.stream = driver.Stream()
            self._pool = tools.DeviceMemoryPool()
            self._staging = tools.PageLockedMemoryPool()
        self._allocated: dict[int, Any] = {}
        self._staged: deque[_Staged] = deque()
        self._launched: deque[str] = deque(maxlen=16)

    @contextmanager
    def current(self) -> Generator[None]:
        """Make the GPU's context this thread's; several threads and several GPUs may do so."""
        self._context.push()
        try:
            yield
        finally:
            self._context.pop()

    def load(self, source: str, name: str = "kernels.cu") -> GpuKernels:
        """Compile a file of CUDA C for this GPU, or find it in the cache.

        Raises
        ------
        HloError
            HLO190 if NVRTC refuses the file, HLO195 if there is no NVRTC.
        """
        made = self._compiler(source, self.architecture, name)
        with self.current(), self._errors("loading the kernels"):
            module = self._driver.module_from_buffer(made.code)
        return GpuKernels(self, module, made.names)

    def allocate(self, size: int) -> int:
        """The address of memory out of the pool; what it holds is undefined."""
        with self.current(), self._errors(f"taking {size} bytes"):
            memory = self._pool.allocate(max(size, 1))
        self._allocated[int(memory)] = memory
        return int(memory)

    def free(self, address: int) -> None:
        """Give memory back to the pool."""
        with self.current():
            self._allocated.pop(address).free()

    def write(self, address: int, data: NDArray[Any]) -> None:
        """Copy an array to the GPU, after what was asked for before; the array is free at once."""
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        if not flat.size:
            return
        with self.current(), self._errors("copying to the GPU"):
            if flat.size > STAGED_BYTES:
                self.stream.synchronize()
                self._driver.memcpy_htod(address, flat)
                return
            while self._staged and self._staged[0].event.query():
                self._staged.popleft()
            staged = self._staging.allocate((flat.size,), np.uint8)
            staged[...] = flat
            self._driver.memcpy_htod_async(address, staged, self.stream)
            event = self._driver.Event(self._driver.event_flags.DISABLE_TIMING)
            self._staged.append(_Staged(staged, event.record(self.stream)))

    def read(self, address: int, out: NDArray[Any]) -> None:
        """Copy from the GPU to an array whose elements lie in order, and wait for it."""
        flat = out.reshape(-1).view(np.uint8)
        if not flat.size:
            return
        with self.current(), self._errors("copying from the GPU"):
            if flat.size > STAGED_BYTES:
                self.stream.synchronize()
                self._driver.memcpy_dtoh(flat, address)
                return
            staged = self._staging.allocate((flat.size,), np.uint8)
            self._driver.memcpy_dtoh_async(staged, address, self.stream)
            self.stream.synchronize()
            flat[...] = staged

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes inside of the GPU, after what was asked for before."""
        with self.current(), self._errors("copying inside of the GPU"):
            self._driver.memcpy_dtod_async(target, source, size, self.stream)

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set bytes of the GPU to one value, after what was asked for before."""
        with self.current(), self._errors("filling memory"):
            self._driver.memset_d8_async(address, byte, size, self.stream)

    def synchronize(self) -> None:
        """Wait for all that was asked for.

        Raises
        ------
        HloError
            HLO192 if a kernel failed.
        """
        with self.current(), self._errors("the kernels"):
            self.stream.synchronize()
            self._staged.clear()

    @contextmanager
    def capture(self) -> Generator[Graph]:
        """Record the launches and copies inside of a `with`, as a graph that can be replayed.

        Nothing inside may wait or take memory. Addresses are those of the recording.
        """
        with self.current(), self._errors("recording a graph"):
            graph = Graph()
            with capturing(self.stream.handle, graph):
                yield graph

    def replay(self, graph: Graph) -> None:
        """Launch a graph, after what was asked for before."""
        with self.current(), self._errors("a graph"):
            graph.launch(self.stream.handle)

    def launch(self, kernel: str, function: Any, *given: Any, **where: Any) -> None:
        """Let a function of a module run; `GpuKernels.launch` says with what."""
        with self.current(), self._errors(f"kernel {kernel}"):
            if where["shared"] > USUAL_SHARED:
                wanted = self._driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                function.set_attribute(wanted, where["shared"])
            self._launched.append(kernel)
            function(*given, **where, stream=self.stream)
            if self._blocking:
                self.stream.synchronize()

    @contextmanager
    def _errors(self, about: str) -> Generator[None]:
        """Errors of the driver in words; those of kernels come late, and may be any one's."""
        try:
            yield
        except self._driver.Error as error:
            notes = [] if self._blocking else self._suspects()
            raise HloError("HLO192", f"{about}: {error}", notes=notes) from error

    def _suspects(self) -> list[str]:
        if not self._launched:
            return []
        return [
            f"launched before, the last one last: {', '.join(self._launched)}",
            "GpuDevice(blocking=True) waits for each, and tells which one failed",
            "`--platform cuda-host --checked` runs the same kernels and looks at every access",
        ]

    def close(self) -> None:
        """Give memory and the context back; PyCUDA wants that before the process ends."""
        with self.current():
            self.stream.synchronize()
            self._staged.clear()
            for memory in self._allocated.values():
                memory.free()
            self._allocated.clear()
            self._pool.stop_holding()
            self._staging.stop_holding()
            del self.stream, self._pool, self._staging
        self._context.detach()


@dataclass(frozen=True, slots=True)
class GpuKernels:
    """The kernels of a file, on a GPU.

    Attributes
    ----------
    names : of each kernel, its symbol in the module.
    """

    device: GpuDevice
    module: Any
    names: Mapping[str, str]
    _functions: dict[str, Any] = field(default_factory=dict[str, Any])

    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: Dim3,
        shared_bytes: int = 0,
        arguments: Sequence[int | np.generic] = (),
    ) -> None:
        """Let a kernel run after all that was asked for before.

        Raises
        ------
        HloError
            HLO191 if there is no such kernel, HLO192 if the driver reports an error.
        """
        if kernel not in self.names:
            message = f"there is no kernel {kernel!r}; there are {', '.join(self.names)}"
            raise HloError("HLO191", message)
        if kernel not in self._functions:
            with self.device.current():
                self._functions[kernel] = self.module.get_function(self.names[kernel])
        given = [np.uintp(each) if isinstance(each, int) else each for each in arguments]
        where = {"grid": grid, "block": block, "shared": shared_bytes}
        self.device.launch(kernel, self._functions[kernel], *given, **where)
