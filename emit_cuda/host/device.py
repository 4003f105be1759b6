"""The processor as a device of CUDA: the same verbs as a GPU's, over this process's memory."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_cuda.host.library import Library, Memory, load
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from emit_cuda.devices import Dim3
    from emit_cuda.host.findings import Finding

# As of a GPU; and as many bytes around each allocation belong to nobody.
ALIGNMENT = 256
# What fresh memory is filled with in checked mode: NaN in every floating-point type.
POISON = 0xFF


@dataclass(slots=True)
class HostDevice:
    """The processor, as something that runs kernels.

    Attributes
    ----------
    checked : watch every access of every kernel.
    seed : in checked mode, of the order of blocks and threads; 0 leaves them in order.
    findings : what checked mode has found so far.
    """

    checked: bool = False
    seed: int = 0
    name: str = "host"
    findings: list[Finding] = field(default_factory=list["Finding"])
    _allocated: dict[int, tuple[NDArray[np.uint8], int]] = field(
        default_factory=dict[int, "tuple[NDArray[np.uint8], int]"]
    )
    _described: dict[int, Memory] = field(default_factory=dict[int, Memory])

    def load(self, source: str, name: str = "kernels.cu") -> HostKernels:
        """Compile a file of CUDA C for the processor, or find it in the cache.

        Raises
        ------
        HloError
            HLO180 if there is no C++ compiler, HLO190 if it refuses the file.
        """
        return HostKernels(self, load(source, name=name, checked=self.checked))

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
        _, size = self._allocated.pop(address)
        for inside in [a for a in self._described if address <= a < address + size]:
            del self._described[inside]

    def describe(self, address: int, size: int, name: str) -> None:
        """Say that some bytes of an allocation are a buffer with a name.

        Of an allocation with such buffers, checked mode lets kernels use nothing else.
        """
        self._described[address] = Memory(address, size, name)

    def write(self, address: int, data: NDArray[Any]) -> None:
        """Copy an array's elements, in its order, to the device."""
        flat = np.ascontiguousarray(data)
        ctypes.memmove(address, flat.ctypes.data, flat.nbytes)

    def read(self, address: int, out: NDArray[Any]) -> None:
        """Copy from the device to an array whose elements lie in order."""
        ctypes.memmove(out.ctypes.data, address, out.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes inside of the device."""
        ctypes.memmove(target, source, size)

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set bytes of the device to one value."""
        ctypes.memset(address, byte, size)

    def synchronize(self) -> None:
        """Return at once: every launch here has ended when it returns."""

    def memory(self) -> Iterator[Memory]:
        """All that kernels may use."""
        yield from self._described.values()
        parents = {self._parent(address) for address in self._described}
        for address, (_, size) in self._allocated.items():
            if address not in parents:
                yield Memory(address, size, f"an allocation of {size} bytes")

    def _parent(self, address: int) -> int:
        """The allocation that an address is in; the address itself if it is in none."""
        for start, (_, size) in self._allocated.items():
            if start <= address < start + size:
                return start
        return address


@dataclass(frozen=True, slots=True)
class HostKernels:
    """The kernels of a file, on the processor."""

    device: HostDevice
    library: Library

    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: Dim3,
        shared_bytes: int = 0,
        arguments: Sequence[int | np.generic] = (),
    ) -> None:
        """Run a kernel to its end.

        Raises
        ------
        HloError
            HLO191 if the launch does not fit the kernel, HLO192 if it comes to no end, HLO193 if
            checked mode finds a mistake.
        """
        device = self.device
        found = self.library.launch(
            kernel,
            grid,
            block,
            shared_bytes,
            arguments,
            memory=tuple(device.memory()) if device.checked else (),
            seed=device.seed,
        )
        if found:
            device.findings += found
            raise_findings(kernel, found)


def raise_findings(kernel: str, found: Sequence[Finding]) -> None:
    """Raise what checked mode has found of a launch.

    Raises
    ------
    HloError
        HLO193, always.
    """
    message = f"kernel {kernel}: {found[0].fault} in line {found[0].line}"
    raise HloError("HLO193", message, notes=[str(each) for each in found])
