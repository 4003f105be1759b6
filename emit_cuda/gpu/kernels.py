"""The kernels of a file, loaded on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from emit_cuda.devices import Kernels
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from emit_cuda.devices import GridCall


class Launcher(Protocol):
    """A GPU, as far as its kernels have to know it."""

    def current(self) -> AbstractContextManager[None]:
        """Make the GPU's context this thread's."""
        ...

    def launch(self, label: str, function: Any, call: GridCall) -> None:
        """Let a function of a module run."""
        ...


@dataclass(frozen=True, slots=True)
class GpuKernels(Kernels):
    """The kernels of a file, on a GPU.

    Attributes
    ----------
    names : of each kernel, its symbol in the module.
    """

    device: Launcher
    module: Any
    names: Mapping[str, str]
    _functions: dict[str, Any] = field(default_factory=dict[str, Any])

    def run(self, call: GridCall) -> None:
        """Let a kernel run after all that a stream was asked for before.

        Raises
        ------
        HloError
            HLO191 if there is no such kernel, HLO192 if the driver reports an error.
        """
        kernel, about = call.kernel, call.purpose.instruction
        if kernel not in self.names:
            message = f"there is no kernel {kernel!r}; there are {', '.join(self.names)}"
            raise HloError("HLO191", message)
        if kernel not in self._functions:
            with self.device.current():
                self._functions[kernel] = self.module.get_function(self.names[kernel])
        label = f"{kernel} (%{about})" if about else kernel
        self.device.launch(label, self._functions[kernel], call)
