"""A kernel of CUDA C in the making, and the constants that it may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from codegen.callees import FUNCTIONS
from codegen.elements import constants
from codegen.statements import Call
from emit_cuda.code.names import CudaNames
from emit_cuda.grids.kernel import GridKernel
from emit_cuda.nvrtc.occupancy import MOST_SHARED_BYTES
from emit_cuda.table import emits_cuda

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from codegen.elements.kernel import Scope

# With this, loops that may never end let the processor stop them; a GPU does not listen.
POLL = Call(FUNCTIONS["poll_for_stop"], ())


class CudaConstants(constants.Constants):
    """The constant arrays of a module: each lies in the device's memory, and kernels are given it.

    Attributes
    ----------
    arrays : by the pointer that a kernel's caller has.
    numbers : for the opcodes that ask for the number of a device, such a pointer: each device has
        an array of its own there.
    """

    def __init__(self, names: CudaNames) -> None:
        super().__init__(names)
        self.arrays: dict[str, NDArray[Any]] = {}
        self.numbers: dict[str, str] = {}

    def define(self, name: str, kind: str, array: NDArray[Any]) -> None:  # noqa: ARG002
        """Keep an array, by the pointer to it."""
        self.arrays[name] = array

    def device_number(self, opcode: str) -> str:
        """The pointer to the number of a device among replicas or partitions."""
        if opcode not in self.numbers:
            name = self.numbers[opcode] = self.names.unique(opcode, "constant")
            self.define(name, "u32", np.zeros((), np.uint32))
        return self.numbers[opcode]


class CudaKernel(GridKernel):
    """A kernel in the making, in CUDA C; its parameters are those of `GridKernel`."""

    def __init__(
        self,
        constants: constants.Constants,
        scope: Scope,
        *,
        repeats: bool = False,
        most_shared: int = MOST_SHARED_BYTES,
    ) -> None:
        names = CudaNames()
        super().__init__(
            emits_cuda, names, constants, scope, repeats=repeats, most_shared=most_shared
        )
        self.writer.wraps, self.writer.poll, self.writer.has_extremes = False, POLL, True
