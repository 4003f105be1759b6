"""The interpreter as an engine: the value of a program, for any number of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.verify import verify_once
from hlo_jax.engines.engine import flat
from interpreter import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_jax.engines.engine import Arrays
    from hlo_jax.programs.program import JaxProgram


class Interpreter:
    """A program that the interpreter runs, instruction by instruction."""

    name = "interpreter"
    native = None
    code_bytes = 0

    def __init__(self, program: JaxProgram, note: str = "") -> None:
        verify_once(program.module)
        self._module, self.note = program.module, note

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program."""
        values = evaluate(self._module, per_device=per_device)
        return [flat(value) for value in values]
