"""A compiled module with run-time sizes: arguments are padded, and results cut."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from codegen.program.run_time_sizes import PaddedCall, call_with_sizes
from emit_c.executable.executable import Executable
from optimizer.dynamic_padder.boundary import run_time_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_c.executable.built import Built
    from hlo.instruction import Computation, Module


class DynamicExecutable(Executable):
    """A module with run-time sizes as a function of its arguments.

    Parameters
    ----------
    module : as it was given.
    static : the entry of what was compiled in its place.
    """

    def __init__(self, module: Module, static: Computation, built: Built) -> None:
        super().__init__(static, built, lambda: str(module))
        self._entry, self._sizes, self.native = module.entry, run_time_sizes(module.entry), None

    def __call__(
        self,
        *arguments: Any,
        per_device: Sequence[Sequence[Any]] | None = None,
        communicator: Any = None,
    ) -> Any:
        """The value of the module for some arguments, as `Executable` gives it."""
        if per_device is None:
            call = partial(super().__call__, communicator=communicator)
            return call_with_sizes(self._entry, self._sizes, call, arguments)
        calls = [PaddedCall(self._entry, self._sizes, arguments) for arguments in per_device]
        values = super().__call__(per_device=[call.arguments for call in calls])
        return [call.cut(value) for call, value in zip(calls, values, strict=True)]
