"""The kernels of a file, loaded on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from emit_cuda.devices import UNKNOWN
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from emit_cuda.devices import Dim3, Purpose


class Launcher(Protocol):
    """A GPU, as far as its kernels have to know it."""

    def current(self) -> AbstractContextManager[None]:
        """Make the GPU's context this thread's."""
        ...

    def launch(
        self, kernel: str, function: Any, arguments: Sequence[Any], stream: int, **where: Any
    ) -> None:
        """Let a function of a module run."""
        ...


@dataclass(frozen=True, slots=True)
class GpuKernels:
    """The kernels of a file, on a GPU.

    Attributes
    ----------
    names : of each kernel, its symbol in the module.
    """

    device: Launcher
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
        *,
        stream: int = 0,
        purpose: Purpose = UNKNOWN,
    ) -> None:
        """Let a kernel run after all that a stream was asked for before.

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
        values = [np.uintp(each) if isinstance(each, int) else each for each in arguments]
        where = {"grid": grid, "block": block, "shared": shared_bytes}
        label = f"{kernel} (%{purpose.instruction})" if purpose.instruction else kernel
        self.device.launch(label, self._functions[kernel], values, stream, **where)
