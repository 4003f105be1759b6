"""Any backend as an engine: a program that it compiled, for as many devices as it can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo_jax.engines.engine import ask_whether_to_stop, flat
from hlo_jax.ffi.handlers import foreign_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.backend import Backend
    from hlo_jax.engines.engine import Arrays
    from hlo_jax.programs.program import JaxProgram


class OnBackend:
    """A program on a backend.

    Raises
    ------
    HloError
        As `Backend.load`; HLO181 if the backend can't do something.
    """

    def __init__(self, program: JaxProgram, backend: Backend, note: str = "") -> None:
        # A call of a foreign function holds a number that only this process knows.
        forget = "remember" in backend.options and foreign_calls(program.module.instructions())
        options: dict[str, Any] = {"remember": False} if forget else {}
        options |= {k: v for k, v in program.conditions.items() if k in backend.options}
        self.stops = "ask" in backend.options
        if self.stops:
            options["ask"] = ask_whether_to_stop
        self._loaded = backend.load(program.module, **options)
        self._donors = {r.donor for r in program.results if r.donor >= 0}
        self.name, self.note = backend.name, note
        self.native = self._loaded.executable.native
        self.code_bytes = self._loaded.executable.code_bytes

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program.

        The memory of arguments that it donates may be used, so these are copied.
        """
        given = [
            [a.copy() if a is not None and k in self._donors else a for k, a in enumerate(own)]
            for own in per_device
        ]
        return [flat(value) for value in self._loaded(given)]
