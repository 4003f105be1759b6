"""The interpreter first, and C as soon as it is there.

To compile a program to C takes a hundred times as long as to interpret it once, so it pays only for
programs that are called again and again, or that take long. Until then, and while a thread
compiles, calls are interpreted. As C rounds otherwise here and there, results may change in their
last digits when it takes over; who must not have that chooses an engine.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hlo.backend_names import find
from hlo.wording import counted
from hlo_jax.engines.background import background
from hlo_jax.engines.compiled import OnBackend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_c.executable.executable import Native
    from hlo_jax.engines.engine import Arrays, Engine
    from hlo_jax.programs.program import JaxProgram

# A program is compiled once it was called so often, or was interpreted for so long.
CALLS = 3
SECONDS = 0.05


class Switching:
    """A program that is interpreted at first."""

    def __init__(self, program: JaxProgram) -> None:
        self._program = program
        self._now: Engine = OnBackend(program, find("interpreter"))
        self._calls, self._seconds = 0, 0.0
        self._waits, self._why = True, ""

    @property
    def name(self) -> str:
        """The engine that runs it now."""
        return self._now.name

    @property
    def native(self) -> Native | None:
        """The address by which C calls it, if it is C already."""
        return self._now.native

    @property
    def code_bytes(self) -> int:
        """Bytes of machine code."""
        return self._now.code_bytes

    @property
    def stops(self) -> bool:
        """Whether a call may run in the queue."""
        return self._now.stops

    @property
    def note(self) -> str:
        """The reason why it is no C, or the time that its compilation took."""
        calls = counted(self._calls, "call")
        return self._why or f"after {calls} of the interpreter, {self._seconds:.2f} s"

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program."""
        begun = time.perf_counter()
        results = self._now.run(per_device)
        if self._waits:
            self._calls += 1
            self._seconds += time.perf_counter() - begun
            if self._calls >= CALLS or self._seconds >= SECONDS:
                self._waits = False
                background().submit(self._compile)
        return results

    def _compile(self) -> None:
        try:
            self._now = OnBackend(self._program, find("c"))
        except Exception as error:
            self._why = str(error).partition("\n")[0]
