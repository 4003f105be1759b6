"""The processor as a device of CUDA: the same verbs as a GPU's, over this process's memory."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_cuda.devices import CudaDevice, Kernels, NamedMemory
from emit_cuda.host.library import HostLibrary, blocks_at_once, load
from hlo.errors.error import HloError
from hlo.support.dlpack import CPU

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from emit_cuda.devices import GridCall
    from emit_cuda.host.findings import Finding

# As of a GPU; and as many bytes around each allocation belong to nobody.
ALIGNMENT = 256
# The byte that fills fresh memory in checked mode: NaN in every floating-point type.
POISON = 0xFF


@dataclass
class HostDevice(CudaDevice):
    """The processor, as something that runs kernels.

    Attributes
    ----------
    checked : watch every access of every kernel.
    seed : in checked mode, of the order of blocks and threads; 0 leaves them in order.
    findings : those of checked mode so far.
    """

    checked: bool = False
    seed: int = 0
    name: str = "host"
    findings: list[Finding] = field(default_factory=list["Finding"])
    dlpack_device: tuple[int, int] = (CPU, 0)
    _allocated: dict[int, tuple[NDArray[np.uint8], int]] = field(
        default_factory=dict[int, "tuple[NDArray[np.uint8], int]"]
    )

    @property
    def watches(self) -> bool:
        """Whether it checks the accesses of kernels."""
        return self.checked

    def load(self, source: str, name: str = "kernels.cu", *, flushes: bool = False) -> HostKernels:
        """Compile a file of CUDA C for the processor, or find it in the cache.

        Parameters
        ----------
        flushes : kernels take subnormal numbers for zeros, those of f64 as well as those of f32.

        Raises
        ------
        HloError
            HLO180 if there is no C++ compiler, HLO190 if it refuses the file.
        """
        return HostKernels(self, load(source, name=name, checked=self.checked, flushes=flushes))

    def allocate(self, size: int) -> int:
        """The address of fresh memory of some bytes, with memory of nobody around it."""
        array = np.empty(size + 3 * ALIGNMENT, np.uint8)
        if self.checked:
            array.fill(POISON)
        address = (array.ctypes.data // ALIGNMENT + 2) * ALIGNMENT
        self._allocated[address] = (array, size)
        return address

    def free(self, address: int) -> None:
        """Give memory back."""
        del self._allocated[address]

    def holds(self, address: int) -> bool:
        """Whether an address is in memory that this device has given out."""
        return any(at <= address < at + size for at, (_, size) in self._allocated.items())

    def write(self, address: int, data: NDArray[Any]) -> None:
        """Copy an array's elements, in its order, to the device."""
        flat = np.ascontiguousarray(data)
        ctypes.memmove(address, flat.ctypes.data, flat.nbytes)

    def read(self, address: int, out: NDArray[Any]) -> None:
        """Copy from the device to an array whose elements lie in order."""
        ctypes.memmove(out.ctypes.data, address, out.nbytes)

    def copy(self, target: int, source: int, size: int, stream: int = 0) -> None:  # noqa: ARG002
        """Copy bytes inside of the device."""
        ctypes.memmove(target, source, size)

    def fill(self, address: int, byte: int, size: int, stream: int = 0) -> None:  # noqa: ARG002
        """Set bytes of the device to one value."""
        ctypes.memset(address, byte, size)

    def peers(self, count: int) -> Sequence[HostDevice]:
        """The processor, which has room for any number of devices."""
        return [self] * count

    def memory(self) -> list[NamedMemory]:
        """All that kernels may use, where nothing more is known of a launch."""
        sizes = ((address, size) for address, (_, size) in self._allocated.items())
        return [
            NamedMemory(address, size, f"an allocation of {size} bytes") for address, size in sizes
        ]


@dataclass(frozen=True, slots=True)
class HostKernels(Kernels):
    """The kernels of a file, on the processor."""

    device: HostDevice
    library: HostLibrary

    def run(self, call: GridCall) -> None:
        """Run a kernel to its end.

        Raises
        ------
        HloError
            HLO191 if the launch does not fit the kernel, HLO192 if it comes to no end, HLO193 if
            checked mode finds a mistake.
        """
        device, memory, grid = self.device, call.purpose.memory, call.grid
        if call.cooperative:
            grid = (min(grid[0], blocks_at_once(call.block)), *grid[1:])
        findings = self.library.launch(
            call.kernel,
            grid,
            call.block,
            call.shared_bytes,
            call.arguments,
            memory=device.memory() if memory is None else memory,
            seed=device.seed,
            cooperative=call.cooperative,
        )
        if findings:
            device.findings += findings
            raise_findings(call.kernel, findings)


def raise_findings(kernel: str, findings: Sequence[Finding]) -> None:
    """Raise the findings of checked mode in a launch.

    Raises
    ------
    HloError
        HLO193, always.
    """
    message = f"kernel {kernel}: {findings[0].fault} in line {findings[0].line}"
    raise HloError("HLO193", message, notes=[str(finding) for finding in findings])
