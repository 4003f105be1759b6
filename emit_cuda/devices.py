"""Something that runs kernels: the processor, a GPU, or a stand-in; each has the same few verbs.

A program's runner is written once against these protocols:

    kernels = device.load(source)
    x, y = device.allocate(4000), device.allocate(4000)
    device.write(x, numpy_array)
    kernels.launch("add_kernel", grid=(4, 1, 1), block=(256, 1, 1), arguments=(x, y, np.int32(7)))
    device.read(y, numpy_result)          # waits for the launches before it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

# The x, y and z of a grid or a block.
Dim3 = tuple[int, int, int]


class Kernels(Protocol):
    """The kernels of one file, loaded."""

    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: Dim3,
        shared_bytes: int = 0,
        arguments: Sequence[int | np.generic] = (),
    ) -> None:
        """Let a kernel run after all that was launched before it.

        Parameters
        ----------
        kernel : its name in the file.
        grid, block : how many blocks, and how many threads in each, along x, y and z.
        shared_bytes : of `extern __shared__` memory.
        arguments : Python integers are addresses; scalars are NumPy's, of the parameter's type.

        Raises
        ------
        HloError
            HLO191 if the launch does not fit the kernel or the device, HLO192 if the kernel fails.
        """
        ...


class Device(Protocol):
    """Where kernels run, with a memory of its own."""

    name: str

    def load(self, source: str, name: str = "kernels.cu") -> Kernels:
        """Compile a file of CUDA C for this device, or find it in the cache.

        Raises
        ------
        HloError
            HLO190 if the compiler refuses the file.
        """
        ...

    def allocate(self, size: int) -> int:
        """The address of fresh memory of some bytes, aligned to 256; what it holds is undefined."""
        ...

    def free(self, address: int) -> None:
        """Give memory back."""
        ...

    def write(self, address: int, data: NDArray[Any]) -> None:
        """Copy an array to the device, in the order of launches."""
        ...

    def read(self, address: int, out: NDArray[Any]) -> None:
        """Copy from the device to an array, after all that was launched; waits for it."""
        ...

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes inside of the device, in the order of launches."""
        ...

    def fill(self, address: int, byte: int, size: int) -> None:
        """Set bytes of the device to one value, in the order of launches."""
        ...

    def synchronize(self) -> None:
        """Wait for all that was launched.

        Raises
        ------
        HloError
            HLO192 if a kernel failed.
        """
        ...
