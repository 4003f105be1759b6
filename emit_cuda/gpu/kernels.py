"""The kernels of a file, loaded on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from emit_cuda.devices import Kernels
from emit_cuda.gpu.cooperative import DriverModule
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
    code : of the module, which is loaded anew for cooperative launches.
    names : of each kernel, its symbol in the module.
    """

    device: CudaDevice
    launches: Callable[[str, Any, GridCall], None]
    module: Any
    code: bytes
    names: Mapping[str, str]
    _functions: dict[str, Any] = field(default_factory=dict[str, Any])
    _own: list[DriverModule] = field(default_factory=list[DriverModule])

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
                self._functions[kernel] = self._function(self.names[kernel], call)
        label = f"{kernel} (%{about})" if about else kernel
        self.launches(label, self._functions[kernel], call)

    def _function(self, symbol: str, call: GridCall) -> Any:
        """A function of the module, that PyCUDA launches; of its own one, if it is cooperative."""
        if not call.cooperative:
            return self.module.get_function(symbol)
        if not self._own:
            self._own.append(DriverModule(self.code, self.device))
        return self._own[0].function(symbol)
