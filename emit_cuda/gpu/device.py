"""A GPU as a device: PyCUDA's memory pool, stream, page-locked staging and launches.

Copies from and to the processor are on stream 0, and so is the end of each run of a program;
kernels may be on others in between. Nothing waits until something is read. Memory that is freed
may be taken again at once, since all later work of stream 0 comes after its last use.

PyCUDA is imported when a device is made, and nowhere else: it is an extra, and needs a driver.

References
----------
A. Klöckner and others, *PyCUDA*, the documentation; NVIDIA, *CUDA Driver API*.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from importlib import import_module
from threading import RLock, local
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from emit_cuda import nvrtc
from emit_cuda.devices import CudaDevice
from emit_cuda.gpu import conditions
from emit_cuda.gpu.conditions import CONDITIONS, FILE, KERNELS, LINKED
from emit_cuda.gpu.context import Context
from emit_cuda.gpu.driver_errors import DriverErrors
from emit_cuda.gpu.graphs import DriverGraph, capturing, let_wait, ordinal_of
from emit_cuda.gpu.kernels import GpuKernels
from emit_cuda.nvrtc.occupancy import most_shared
from hlo.errors.error import HloError
from hlo.support.dlpack import CUDA
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from emit_cuda.devices import GridCall
    from emit_cuda.nvrtc import Compiled

    # Makes a file of CUDA C into something that the driver loads: of its text, an architecture, a
    # name, and further options of NVRTC.
    Compiler = Callable[[str, str, str, Sequence[str]], Compiled]

# The platforms that still work where there is no GPU.
WITHOUT_GPU = (
    "`hlo run --platform cuda-host` runs the same kernels on the processor",
    "`hlo opt --stage cuda` shows them, `--stage ptx` what NVRTC makes of them",
)
# NVRTC's option for kernels that take subnormal numbers of f32 for zeros.
FLUSHING = ("--ftz=true",)
# Bytes of shared memory that a block may ask for without having said so before.
USUAL_SHARED = 48 << 10


def missing() -> str:
    """The reason why there is no GPU to run on; empty if there is one."""
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


def _nvrtc(source: str, architecture: str, name: str, options: Sequence[str]) -> Compiled:
    if name == FILE:
        # The driver links its own function, for which it wants PTX.
        text = nvrtc.ptx(source, architecture, name=name, options=[LINKED]).encode() + b"\0"
        return nvrtc.Compiled(text, {kernel: kernel for kernel in KERNELS}, {}, "")
    return nvrtc.compile(source, architecture, name=name, options=options)


class _StreamCapture(local):
    """The streams and the kernels of the graph that a thread records; None while there is none."""

    streams: list[Any] | None = None
    kernels: list[str] | None = None


class GpuDevice(CudaDevice):
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
        self.most_shared: int = most_shared(self.architecture)
        self._own = Context(driver, gpu)
        self._closing = finalize(self, self._own.close)
        self.dlpack_device: tuple[int, int] = (CUDA, ordinal)
        self._launched: deque[str] = deque(maxlen=16)
        # Goes back to the pool before memory is taken the next time: a context is current then.
        self._freed: list[int] = []
        self._recording = _StreamCapture()
        self._lock = RLock()
        self.conditionals: bool = conditions.has_conditionals()
        self._conditions: GpuKernels | None = None

    captures = True

    def current(self) -> AbstractContextManager[None]:
        """Make the GPU's context this thread's; several threads and several GPUs may do so."""
        return self._own.current

    def stream(self, number: int = 0) -> Any:
        """PyCUDA's stream of a number; inside of `capture`, the one that records in its place."""
        streams = self._recording.streams or self._own.streams
        if number >= len(streams):
            with self._lock, self.current():
                while len(streams) <= number:
                    streams.append(self._own.new_stream())
        return streams[number]

    def load(self, source: str, name: str = "kernels.cu", *, flushes: bool = False) -> GpuKernels:
        """Compile a file of CUDA C for this GPU, or find it in the cache.

        Parameters
        ----------
        flushes : kernels take subnormal numbers of f32 for zeros.

        Raises
        ------
        HloError
            HLO190 if NVRTC refuses the file, HLO195 if there is no NVRTC.
        """
        return self._loaded(
            self._compiler(source, self.architecture, name, FLUSHING if flushes else ())
        )

    def _loaded(self, compiled: Compiled) -> GpuKernels:
        with self.current(), self._errors("loading the kernels"):
            module = self._driver.module_from_buffer(compiled.code)
        return GpuKernels(self, self.launch, module, compiled.code, compiled.names)

    def allocate(self, size: int) -> int:
        """The address of memory out of the pool; its contents are undefined."""
        with self._lock, self.current(), self._errors(f"taking {size} bytes"):
            while self._freed:
                self._own.allocated.pop(self._freed.pop()).free()
            memory = self._own.pool.allocate(max(size, 1))
            self._own.allocated[int(memory)] = memory
        return int(memory)

    def free(self, address: int) -> None:
        """Give memory back to the pool; earlier work of stream 0 may still use it."""
        self._freed.append(address)

    def holds(self, address: int) -> bool:
        """Whether an address of another library is in this GPU's memory."""
        with self.current():
            return ordinal_of(address) == self.dlpack_device[1]

    def write(self, address: int, data: NDArray[Any]) -> None:
        """Copy an array to the GPU, after earlier work; the array is free at once."""
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        with self._lock, self.current(), self._errors("copying to the GPU"):
            self._own.staging.write(address, flat, self.stream())

    def read(self, address: int, out: NDArray[Any]) -> None:
        """Copy from the GPU to an array whose elements lie in order, and wait for it."""
        flat = out.reshape(-1).view(np.uint8)
        with self.current(), self._errors("copying from the GPU"):
            self._own.staging.read(address, flat, self.stream())

    def ask(self, address: int, out: NDArray[Any]) -> Callable[[], None]:
        """Begin to copy a few bytes from the GPU, after earlier work; gives a wait for them."""
        with self.current(), self._errors("copying from the GPU"):
            take = self._own.staging.ask(address, out.reshape(-1).view(np.uint8), self.stream())

        def waited() -> None:
            with self.current(), self._errors("copying from the GPU"):
                take()

        return waited

    def copy(self, target: int, source: int, size: int, stream: int = 0) -> None:
        """Copy bytes inside of the GPU, after earlier work of a stream."""
        with self.current(), self._errors("copying inside of the GPU"):
            self._driver.memcpy_dtod_async(target, source, size, self.stream(stream))

    def fill(self, address: int, byte: int, size: int, stream: int = 0) -> None:
        """Set bytes of the GPU to one value, after earlier work of a stream."""
        with self.current(), self._errors("filling memory"):
            self._driver.memset_d8_async(address, byte, size, self.stream(stream))

    def peers(self, count: int) -> Sequence[GpuDevice]:
        """The first GPUs, of which this one is the first.

        Raises
        ------
        HloError
            HLO194 if there are too few.
        """
        there: int = self._driver.Device.count()
        if count > there or self.dlpack_device[1]:
            message = f"the module is for {counted(count, 'device')}, and there are {there} GPUs"
            raise HloError("HLO194", message, notes=WITHOUT_GPU)
        others = [GpuDevice(k, compiler=self._compiler) for k in range(1, count)]
        return [self, *others]

    def record(self, stream: int) -> Any:
        """An event that happens when all work is done that a stream was given until now."""
        with self.current(), self._errors("recording an event"):
            event = self._driver.Event(self._driver.event_flags.DISABLE_TIMING)
            return event.record(self.stream(stream))

    def timed(self, run: Callable[[], None], stream: int) -> float:
        """The seconds between events before and after a function's work on a stream."""
        with self.current(), self._errors("timing a launch"):
            begin, end = self._driver.Event(), self._driver.Event()
            begin.record(self.stream(stream))
            run()
            end.record(self.stream(stream))
            end.synchronize()
            return begin.time_till(end) / 1e3

    def wait(self, stream: int, event: Any) -> None:
        """Let later work of a stream come after an event of another stream."""
        with self.current(), self._errors("waiting for an event"):
            self.stream(stream).wait_for_event(event)

    def handle(self, stream: int = 0) -> int:
        """The driver's handle of a stream, as other libraries take it."""
        return int(self.stream(stream).handle)

    def keep(self, thing: Any) -> None:
        """Keep something alive until all the work of stream 0 has ended."""
        with self._lock, self.current():
            self._own.staging.keep(thing, self.stream())

    def order(self, before: int, after: int) -> None:
        """Let a stream wait for another one; both by handles, of which others may own one."""
        with self.current():
            let_wait(before, after)

    def synchronize(self) -> None:
        """Wait for all work that the GPU was given.

        Raises
        ------
        HloError
            HLO192 if a kernel failed.
        """
        with self._lock, self.current(), self._errors("the kernels"):
            self._own.synchronize()

    @contextmanager
    def capture(self) -> Generator[DriverGraph]:
        """Record launches and copies of this thread inside of a `with`, as a graph.

        Nothing inside may wait or take memory. Addresses are those of the recording.
        """
        graph = DriverGraph()
        with self._recorded(graph.kernels) as stream, capturing(stream, graph):
            yield graph

    @contextmanager
    def _recorded(self, kernels: list[str]) -> Generator[int]:
        """Let a stream of its own be stream 0 inside of a `with`; gives its handle."""
        recording = self._recording
        with self.current(), self._errors("recording a graph"):
            outside, streams = (recording.streams, recording.kernels), [self._own.new_stream()]
            recording.streams, recording.kernels = streams, kernels
            try:
                yield streams[0].handle
            finally:
                recording.streams, recording.kernels = outside

    def capture_control(self, record: Callable[[], None]) -> DriverGraph | None:
        """Record loops and branches, as a graph; None where the driver can't, after all.

        Parameters
        ----------
        record : calls `record_loop` and `record_choice`.
        """
        try:
            self._condition_kernels()
            with self.capture() as graph:
                record()
        except HloError:
            # From now on the host decides, as it does without conditional nodes.
            self.conditionals = False
            return None
        return graph

    def record_loop(self, again: Callable[[], None], predicate: int) -> None:
        """Record a loop, which may be inside of another one.

        Parameters
        ----------
        again : is repeated as long as the predicate holds.
        predicate : the address of a truth value.
        """
        condition = conditions.new_condition(self.handle())
        self._set(conditions.SET_LOOP, condition, predicate)
        with self._inside(condition, conditions.WHILE):
            again()
            self._set(conditions.SET_LOOP, condition, predicate)

    def record_choice(
        self, branches: Sequence[Callable[[], None]], number: int, *, of_pred: bool
    ) -> None:
        """Record branches, of which the chosen one runs.

        Parameters
        ----------
        number : the address of the branch's number, or of a truth value.
        """
        setter = conditions.SET_SIDE if of_pred else conditions.SET_BRANCH
        handles = [conditions.new_condition(self.handle()) for _ in branches]
        for branch, condition in enumerate(handles):
            self._set(setter, condition, number, np.int32(branch), np.int32(len(branches)))
        for issue, condition in zip(branches, handles, strict=True):
            with self._inside(condition, conditions.IF):
                issue()

    @contextmanager
    def _inside(self, condition: int, kind: int) -> Generator[None]:
        """Record inside of a `with` the graph of a conditional node, which comes next."""
        kernels = self._recording.kernels
        assert kernels is not None, "a graph is recorded"
        with self.current():
            graph = conditions.add_node(self.handle(), condition, kind)
            with self._recorded(kernels) as stream, conditions.into(stream, graph):
                yield

    def _set(self, kernel: str, condition: int, *arguments: int | np.generic) -> None:
        one = (1, 1, 1)
        self._condition_kernels().launch(kernel, one, one, 0, (np.uint64(condition), *arguments))

    def _condition_kernels(self) -> GpuKernels:
        """The kernels that set conditions, which call a function of the driver."""
        if self._conditions is None:
            compiled = self._compiler(CONDITIONS, self.architecture, FILE, ())
            self._conditions = self._loaded(compiled)
        return self._conditions

    def replay(self, graph: DriverGraph) -> None:
        """Run a graph, after earlier work."""
        with self.current(), self._errors("a graph"):
            self._launched += graph.kernels
            graph.launch(self.stream().handle)

    def launch(self, label: str, function: Any, call: GridCall) -> None:
        """Launch a function of a module.

        Parameters
        ----------
        label : its name, and the instruction that it computes, for messages.
        """
        with self.current(), self._errors(f"kernel {label}"):
            if call.shared_bytes > USUAL_SHARED:
                attribute = self._driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                function.set_attribute(attribute, call.shared_bytes)
            recording, stream = self._recording.kernels, self.stream(call.stream)
            (self._launched if recording is None else recording).append(label)
            values = [
                np.uintp(value) if isinstance(value, int) else value for value in call.arguments
            ]
            where = {"grid": call.grid, "block": call.block, "shared": call.shared_bytes}
            function(*values, **where, stream=stream)
            if self._blocking and not self._recording.streams:
                stream.synchronize()

    def _errors(self, about: str) -> DriverErrors:
        """Errors of the driver in words; those of kernels come late, and may be any one's."""
        return DriverErrors(self._driver.Error, about, self._suspects)

    def _suspects(self) -> list[str]:
        if self._blocking or not self._launched:
            return []
        return [
            f"launched before, the last one last: {', '.join(self._launched)}",
            "GpuDevice(blocking=True) waits for each, and tells which one failed",
            "`--platform cuda-host --checked` runs the same kernels and looks at every access",
        ]

    @property
    def closed(self) -> bool:
        """Whether its memory and the context were given back."""
        return not self._closing.alive

    def close(self) -> None:
        """Give memory and the context back, before the process ends or nobody uses the GPU."""
        with self._lock:
            self._closing()
