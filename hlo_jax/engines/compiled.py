"""C as an engine: a program, optimized, emitted as C and compiled; devices are threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import emit_c
from hlo_jax.engines.engine import flat
from hlo_jax.ffi.handlers import foreign_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_jax.engines.engine import Arrays
    from hlo_jax.programs.program import JaxProgram


class CompiledC:
    """A program as C.

    Raises
    ------
    HloError
        As `emit_c.compile`; HLO181 if an instruction can't be emitted.
    """

    name = "c"
    note = ""

    def __init__(self, program: JaxProgram) -> None:
        donates = any(result.donor >= 0 for result in program.results)
        # A call of a foreign function holds a number that only this process knows.
        remember = not foreign_calls(program.module.instructions())
        self._executable = emit_c.compile(program.module, donate=donates, remember=remember)
        self._donors = {r.donor for r in program.results if r.donor >= 0}
        self.native = self._executable.native
        self.code_bytes = self._executable.library.stat().st_size

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program.

        The memory of arguments that a lone device donates is used, so these are copied.
        """
        if len(per_device) > 1:
            return [flat(value) for value in self._executable(per_device=per_device)]
        (arguments,) = per_device
        given = [
            a.copy() if a is not None and k in self._donors else a for k, a in enumerate(arguments)
        ]
        return [flat(self._executable(*given))]
