"""A kernel of CUDA C in the making, its threads' shared memory, and constants that it may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from codegen.elements import constants
from codegen.elements.kernel import Kernel
from codegen.expressions import Name
from codegen.statements import live
from emit_cuda.code.names import CudaNames
from emit_cuda.grids.stages import POLL, Stage
from emit_cuda.nvrtc.occupancy import MOST_SHARED_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from codegen.elements.kernel import Scope
    from codegen.elements.table import Entry
    from codegen.statements import Statement
    from emit_cuda.grids.stages import Shared
    from hlo.table import OpTable

    Schedule = Callable[["CudaKernel", str, Sequence[Statement]], Sequence[Statement]]


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


class CudaKernel(Kernel):
    """A kernel in the making, of one launch or several.

    Parameters
    ----------
    table, constants, scope : as of every kernel.
    repeats : it is in a loop, where launches are dear, and one block may do small ones in turns.
    most_shared : bytes of shared memory that a block may ask for.

    Attributes
    ----------
    schedule : gives other statements for plain loops of a kernel, by the name of its instruction.
    rooms : memory of the device in which one launch leaves something to the next: by its name in
        the kernel the element type and how many there are.
    """

    def __init__(
        self,
        table: OpTable[Entry],
        constants: constants.Constants,
        scope: Scope,
        *,
        repeats: bool = False,
        most_shared: int = MOST_SHARED_BYTES,
    ) -> None:
        super().__init__(table, CudaNames(), constants, scope)
        self.repeats, self.most_shared = repeats, most_shared
        self.schedule: Schedule | None = None
        self.rooms: dict[str, tuple[str, int]] = {}
        self._shared: list[tuple[str, str, int]] = []
        self.writer.wraps, self.writer.poll, self.writer.has_extremes = False, POLL, True

    def room(self, kind: str, wanted: str, size: int) -> Name:
        """An array that one launch leaves to the next."""
        name = self.body.name(wanted)
        self.rooms[name] = kind, size
        return Name(name)

    def shared_array(self, kind: str, wanted: str, size: int) -> Name:
        """An array in the memory that a block's threads share, for the launch that comes next."""
        name = self.body.name(wanted)
        self._shared.append((kind, name, size))
        return Name(name)

    def stage(
        self,
        statements: Sequence[Statement],
        blocks: int,
        threads: int | tuple[int, int],
        kind: str,
        *,
        shared: Shared = (),
        aligned: int = 0,
        resident: int = 1,
    ) -> Stage:
        """A launch, with the shared arrays that were asked for; its other fields: see `Stage`."""
        x, y = threads if isinstance(threads, tuple) else (threads, 1)
        shared, self._shared = (*shared, *self._shared), []
        return Stage(
            live(statements), (blocks, 1, 1), (x, y, 1), shared,
            kind=kind, aligned=aligned, resident=resident,
        )  # fmt: skip
