"""The kernels of a file, loaded on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from emit_cuda.devices import Kernels
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from emit_cuda.devices import CudaDevice, GridCall


@dataclass(frozen=True, slots=True)
class GpuKernels(Kernels):
    """The kernels of a file, on a GPU.

    Attributes
    ----------
    launches : lets a function of the module run, which is labelled for messages.
    names : of each kernel, its symbol in the module.
    """

    device: CudaDevice
    launches: Callable[[str, Any, GridCall], None]
    module: Any
    names: Mapping[str, str]
    _functions: dict[str, Any] = field(default_factory=dict[str, Any])

    def run(self, call: GridCall) -> None:
        """Let a kernel run after all the work that a stream was given before.

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
        self.launches(label, self._functions[kernel], call)
