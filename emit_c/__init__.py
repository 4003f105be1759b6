"""An optimized module to one readable C file, to a shared library, to a Python callable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emit_c import (  # they fill the table
    contraction,
    folding,
    matrices,
    movement,
    ordering,
    plumbing,
    randomness,
    scalar,
    updating,
)
from emit_c.emit import Program, emit
from emit_c.executable import Executable
from emit_c.table import emits_c

if TYPE_CHECKING:
    from hlo.instruction import Module

__all__ = ["Executable", "Program", "compile", "emit", "emits_c"]
_FILLED = (contraction, folding, matrices, movement, ordering)
_FILLED_TOO = (plumbing, randomness, scalar, updating)


def compile(module: Module) -> Executable:  # noqa: A001  as ARCHITECTURE names it
    """Emit, compile and load a module.

    Raises
    ------
    HloError
        HLO180 if there is no C compiler, HLO181 if an instruction can't be emitted, HLO182 if the
        compiler refuses the code.
    """
    return Executable(module, emit(module))
