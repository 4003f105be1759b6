"""A module that is interpreted until its library is there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from emit_c.executable.background import background
from interpreter import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from emit_c.executable.executable import Executable
    from hlo.instruction import Module

Value = Any  # an array, None for a token, or a tuple of values


class PendingExecutable:
    """A module as a function of its arguments, at once.

    A thread compiles the module. Until the library is there, the interpreter answers; the call
    after that is the first one of the compiled code. Values differ between the two by no more
    than what the passes promise.

    Parameters
    ----------
    make : compiles the module.
    """

    def __init__(self, module: Module, make: Callable[[], Executable]) -> None:
        self._module, self._make = module, make
        self._made: Executable | None = None
        self._failed: Exception | None = None
        self._done = threading.Event()
        background().submit(self._compile)

    def _compile(self) -> None:
        try:
            self._made = self._make()
        except Exception as error:
            self._failed = error
        self._done.set()

    @property
    def ready(self) -> bool:
        """Whether calls run compiled code by now, or fail as the compilation did."""
        return self._done.is_set()

    def wait(self, seconds: float | None = None) -> Executable:
        """The compiled module, once it is there.

        Raises
        ------
        HloError
            what the compilation failed with.
        TimeoutError
            if it takes longer than the given seconds.
        """
        if not self._done.wait(seconds):
            raise TimeoutError(f"{self._module.name} is still being compiled")
        if self._made is None:
            assert self._failed is not None
            raise self._failed
        return self._made

    def __repr__(self) -> str:
        """The module's name, and whether the module is compiled."""
        state = "compiled" if self._made else "failed" if self._failed else "being compiled"
        return f"<executable of {self._module.name}, {state}>"

    def explain(self) -> str:
        """The one who answers the next call; for compiled code, on how many threads, and why."""
        return self.wait().explain() if self.ready else "the interpreter answers calls so far"

    def __call__(
        self,
        *arguments: Value,
        per_device: Sequence[Sequence[Value]] | None = None,
        communicator: Any = None,
    ) -> Value:
        """The value of the module for some arguments, or on several devices.

        With a communicator, the first call waits for the library.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit; what the compilation failed with.
        """
        if self._done.is_set() or communicator is not None:
            return self.wait()(*arguments, per_device=per_device, communicator=communicator)
        return evaluate(self._module, *arguments, per_device=per_device)
