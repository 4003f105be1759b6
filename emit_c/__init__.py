"""An optimized module to one readable C file, to a shared library, to a Python callable.

The rooms, in the order in which they stand on each other, and in which they are best read:
`code` (C before it is text), `table` (how each opcode is emitted), `kernels` (a kernel and its
loops), `opcodes` and `contraction` (the entries of the table), `custom_calls`, `program` (a whole
module: buffers, schedule, control flow), `executable` (compiling, loading, calling) and `dynamic`
(sizes that are known at run time only).
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING

import optimizer
from emit_c.dynamic.executable import DynamicExecutable
from emit_c.dynamic.padding import is_dynamic, to_static
from emit_c.executable.executable import Executable
from emit_c.executable.runtime import set_threads
from emit_c.executable.strided import StridedExecutable, without_last_bitcasts
from emit_c.program.emit import Program, emit
from emit_c.table import emits_c
from hlo.garbage import no_collection
from hlo.verify import verify

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module

# Files define their opcodes when they are imported.
for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

__all__ = ["Executable", "Program", "compile", "emit", "emits_c", "set_threads"]


@no_collection()
def compile(  # noqa: A001 - so it is named
    module: Module, *, optimize: bool = True, donate: bool = False
) -> Executable:
    """Verify, optimize, emit, compile and load a module.

    Parameters
    ----------
    optimize : run the standard pipeline for the CPU first; without it, the code follows the
        module instruction by instruction.
    donate : let results take the memory of those arguments that the module's `input_output_alias`
        names. These arrays then hold the results after a call. Without it a call leaves its
        arguments as they are.

    Raises
    ------
    HloError
        HLO020 to HLO099 if the module is not well-formed (C checks no bounds, so shapes must be
        right), HLO180 if there is no C compiler, HLO181 if an instruction can't be emitted, HLO182
        if the compiler refuses the code.
    """
    sound: set[Instruction] = set()
    verify(module, sound)
    if not donate and module.header.input_output_alias:
        module = replace(module, header=replace(module.header, input_output_alias=()))
    static = to_static(module) if is_dynamic(module) else None
    made = static.module if static else module
    if optimize:
        made = optimizer.optimize(made, target="cpu", observers=())
        verify(made, sound)
    if static:
        return DynamicExecutable(module, static, made, emit(made))
    made, views = without_last_bitcasts(made)
    program = emit(made)
    return StridedExecutable(made, program, views) if views else Executable(made, program)
