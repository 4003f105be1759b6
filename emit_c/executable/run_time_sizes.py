"""A compiled module with run-time sizes: arguments are padded, and results cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codegen.program.run_time_sizes import call_with_sizes
from emit_c.executable.executable import Executable

if TYPE_CHECKING:
    from collections.abc import Callable

    from emit_c.executable.built import Built
    from hlo.instruction import Module
    from optimizer.dynamic_padder.boundary import Static


class DynamicExecutable(Executable):
    """A module with run-time sizes as a function of its arguments.

    Parameters
    ----------
    module : as it was given.
    static : what was compiled in its place.
    """

    def __init__(
        self, module: Module, static: Static, built: Built, written: Callable[[], str]
    ) -> None:
        super().__init__(static.module.entry, built, written)
        self._entry, self._static, self.native = module.entry, static, None

    def __call__(self, *arguments: Any) -> Any:
        """The value of the module for some arguments, as `interpreter.evaluate` gives it.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit.
        """
        return call_with_sizes(self._entry, self._static, super().__call__, arguments)
