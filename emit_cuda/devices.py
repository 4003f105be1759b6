"""Something that runs kernels: the processor, a GPU, or a stand-in; each has the same few verbs.

A program's runner is written once for all of them. Work is on streams, which are numbered;
copies from and to the processor are on stream 0.

    kernels = device.load(source)
    x, y = device.allocate(4000), device.allocate(4000)
    device.write(x, numpy_array)
    kernels.launch("add_kernel", grid=(4, 1, 1), block=(256, 1, 1), arguments=(x, y, np.int32(7)))
    device.read(y, numpy_result)          # waits for the launches before it
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from emit_cuda.nvrtc.occupancy import MOST_SHARED_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from codegen.program.steps import Dim3


@dataclass(frozen=True, slots=True)
class NamedMemory:
    """A stretch of memory that a kernel may use.

    Attributes
    ----------
    address, size : in bytes.
    name : for messages, as "argument 0, f32[1000]".
    """

    address: int
    size: int
    name: str


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of a launch, for messages.

    Attributes
    ----------
    instruction : the name of the HLO instruction that it computes.
    memory : all that it may use beside shared memory, for a device that watches; None if unknown.
    """

    instruction: str = ""
    memory: Sequence[NamedMemory] | None = None


# Of a launch of which nothing is told.
UNKNOWN = Purpose()


@dataclass(frozen=True, slots=True)
class GridCall:
    """A launch of a kernel, as `Kernels.launch` is told of it."""

    kernel: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    arguments: Sequence[int | np.generic]
    stream: int
    purpose: Purpose
    cooperative: bool


class Kernels(ABC):
    """The kernels of one file, loaded."""

    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: Dim3,
        shared_bytes: int = 0,
        arguments: Sequence[int | np.generic] = (),
        *,
        stream: int = 0,
        purpose: Purpose = UNKNOWN,
        cooperative: bool = False,
    ) -> None:
        """Let a kernel run after all that was launched on the same stream before it.

        Parameters
        ----------
        kernel : its name in the file.
        grid, block : how many blocks, and how many threads in each, along x, y and z.
        shared_bytes : of `extern __shared__` memory.
        arguments : Python integers are addresses; scalars are NumPy's, of the parameter's type.
        stream : its number; streams run side by side, except where `CudaDevice.wait` orders them.
        cooperative : its blocks wait for each other, so all are there at once: along x there are
            fewer than asked for, if the device holds no more.

        Raises
        ------
        HloError
            HLO191 if the launch does not fit the kernel or the device, HLO192 if the kernel fails,
            HLO193 if checked mode finds a mistake.
        """
        where = grid, block, shared_bytes
        self.run(GridCall(kernel, *where, arguments, stream, purpose, cooperative))

    @abstractmethod
    def run(self, call: GridCall) -> None:
        """Let a call run, as `launch` describes it."""


class RecordedGraph(Protocol):
    """Launches and copies that were recorded."""

    def close(self) -> None:
        """Give the driver's objects back."""
        ...


class CudaDevice(ABC):
    """A device with memory of its own, which runs kernels.

    What is written here does for a device whose work has ended when it returns.

    Attributes
    ----------
    dlpack_device : its kind, as DLPack numbers them (1 the processor, 2 CUDA), and its number.
    captures : whether it records launches as graphs, to be replayed at once.
    conditionals : whether loops and branches can be in such a graph.
    most_shared : bytes of shared memory that a block may ask for.
    """

    name: str
    dlpack_device: tuple[int, int]
    captures: bool = False
    conditionals: bool = False
    most_shared: int = MOST_SHARED_BYTES

    @property
    def watches(self) -> bool:
        """Whether it checks the accesses of kernels, and so wants to know their memory."""
        return False

    def current(self) -> AbstractContextManager[None]:
        """Make the device's context this thread's, for libraries that are called in it."""
        return nullcontext()

    @abstractmethod
    def load(self, source: str, name: str = "kernels.cu", *, flushes: bool = False) -> Kernels:
        """Compile a file of CUDA C for this device, or find it in the cache.

        Parameters
        ----------
        flushes : kernels take subnormal numbers of f32 for zeros.

        Raises
        ------
        HloError
            HLO190 if the compiler refuses the file.
        """

    @abstractmethod
    def allocate(self, size: int) -> int:
        """The address of fresh memory of some bytes, aligned to 256; its contents are undefined."""

    @abstractmethod
    def free(self, address: int) -> None:
        """Give memory back."""

    @abstractmethod
    def holds(self, address: int) -> bool:
        """Whether an address of another library is in this device's memory."""

    @abstractmethod
    def write(self, address: int, data: NDArray[Any]) -> None:
        """Copy an array to the device, in the order of launches."""

    @abstractmethod
    def read(self, address: int, out: NDArray[Any]) -> None:
        """Copy from the device to an array, after all that was launched; waits for it."""

    def ask(self, address: int, out: NDArray[Any]) -> Callable[[], None]:
        """Begin to copy a few bytes, after all that was launched until now.

        The function that it gives waits for them; before, the array is undefined.
        """
        self.read(address, out)
        return lambda: None

    @abstractmethod
    def copy(self, target: int, source: int, size: int, stream: int = 0) -> None:
        """Copy bytes inside of the device, in the order of launches of a stream."""

    @abstractmethod
    def fill(self, address: int, byte: int, size: int, stream: int = 0) -> None:
        """Set bytes of the device to one value, in the order of launches of a stream."""

    @abstractmethod
    def peers(self, count: int) -> Sequence[CudaDevice]:
        """Devices of this kind that run a program together, this one the first of them.

        Raises
        ------
        HloError
            HLO194 if there are too few.
        """

    def record(self, stream: int) -> Any:  # noqa: ARG002
        """An event that happens when all work is done that a stream was given until now."""
        return None

    def wait(self, stream: int, event: Any) -> None:  # noqa: B027
        """Let later work of a stream come after an event of another stream."""

    def handle(self, stream: int = 0) -> int:  # noqa: ARG002
        """The handle of the stream for CUDA's libraries; 0 where there is none."""
        return 0

    def keep(self, thing: object) -> None:  # noqa: B027
        """Keep something alive until all the work of stream 0 has ended."""

    def order(self, before: int, after: int) -> None:  # noqa: B027
        """Let a stream wait for another; by handles, of which other libraries may own one."""

    def timed(self, run: Callable[[], None], stream: int) -> float:  # noqa: ARG002
        """The seconds of the work that a function gives to a stream; waits for it."""
        begin = perf_counter()
        run()
        return perf_counter() - begin

    def capture(self) -> AbstractContextManager[RecordedGraph]:
        """Record the launches of this thread inside of a `with`, instead of letting them run."""
        raise NotImplementedError

    def capture_control(self, record: Callable[[], None]) -> RecordedGraph | None:
        """Record loops and branches, and the work around them, as a graph.

        `record` calls `record_loop` and `record_choice`. None, and no `conditionals` from then on,
        where the device can't.
        """
        raise NotImplementedError

    def record_loop(self, again: Callable[[], None], predicate: int) -> None:
        """Record a loop, which is repeated while a predicate holds that is computed before."""
        raise NotImplementedError

    def record_choice(
        self, branches: Sequence[Callable[[], None]], number: int, *, of_pred: bool
    ) -> None:
        """Record branches, of which the one runs whose number is at an address, or the last."""
        raise NotImplementedError

    def replay(self, graph: Any) -> None:
        """Run a recording, after all that was launched before."""
        raise NotImplementedError

    def synchronize(self) -> None:  # noqa: B027
        """Wait for all that was launched.

        Raises
        ------
        HloError
            HLO192 if a kernel failed.
        """
