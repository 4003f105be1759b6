"""Programs that several processes run together: C, whose devices send each other messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import emit_c
from codegen.subnormals import chosen_subnormals
from emit_c.executable.processes import StoppedError, explained_of_processes, run_by_messages
from hlo_jax.engines.callbacks import without_numbers
from hlo_jax.engines.engine import flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_c.executable.executable import Executable, Native
    from hlo_jax.engines.engine import Arrays
    from hlo_jax.programs.program import JaxProgram


class AcrossProcesses:
    """A program of which this process has some devices.

    Parameters
    ----------
    wire : address of a `struct hlo_wire`.
    own : the numbers of this process's devices in the program.

    Raises
    ------
    HloError
        As `emit_c.compile`.
    """

    def __init__(self, program: JaxProgram, wire: int, own: Sequence[int]) -> None:
        module, conditions = program.module, program.conditions
        compiled: Any = emit_c.compile
        self._executable: Executable = compiled(module, donate=True, **conditions)
        self._own, self._devices, self.wire = own, program.num_devices, wire
        self._donors = {r.donor for r in program.results if r.donor >= 0}
        # Each process has numbers of its own for the functions that it calls back.
        told = without_numbers(module), chosen_subnormals(conditions["subnormals"])
        self._program = self._executable.shared("\n".join(map(str, told)))
        self.name, self.note, self.number = "c", "", self._program.number
        self.stops = False
        native = self._executable.native
        address = self._program.together.address(self._devices)
        self.native: Native | None = native and replace(
            native, plan=address, explain=self._explained
        )
        self.code_bytes = self._executable.library.stat().st_size

    def _explained(self, report: Sequence[int]) -> BaseException:
        return explained_of_processes(report, self._program.together, self._own)

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Call the program on the arguments of this process's devices."""
        given = [
            [a.copy() if a is not None and k in self._donors else a for k, a in enumerate(own)]
            for own in per_device
        ]
        try:
            made = run_by_messages(self.wire, self._program, given, self._devices)
        except StoppedError as stopped:
            raise self._explained(stopped.report) from None
        return [flat(value) for value in made]


class Elsewhere:
    """A program of which this process has no device: nothing is done here."""

    name, note, code_bytes = "c", "it runs in other processes", 0
    native: Native | None = None
    stops = False

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Nothing, of no devices."""
        assert not per_device, "no device is here"
        return ()
