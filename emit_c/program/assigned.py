"""The memory of a module, as the code that is written for it uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from emit_c.program.emit import emit
from hlo.errors.error import HloError
from optimizer.log import Log
from optimizer.memory.buffer_assignment import assign
from optimizer.memory.copy_insertion import CopyInsertion
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from emit_c.program.emit import Program
    from hlo.instruction import Module
    from optimizer.memory.buffer_assignment import BufferAssignment

# Modules that cannot be emitted, and those that are nested too deeply for it.
_NOT_EMITTED = ("HLO181", "HLO115")


class Assigned(NamedTuple):
    """The buffer assignment of a module's C.

    Attributes
    ----------
    program : the C; None if there is none.
    without_c : why there is no C, so that this is where they could lie; "" if there is.
    """

    assignment: BufferAssignment
    program: Program | None
    without_c: str = ""


def assigned(module: Module) -> Assigned:
    """The buffer assignment of a module's C, or of the optimizer for a module without C."""
    try:
        program = emit(prepare(module, with_views=True))
    except HloError as error:
        if error.code not in _NOT_EMITTED:
            raise
        return Assigned(assign(CopyInsertion().run(module, Log())), None, error.message)
    return Assigned(program.assignment, program)
