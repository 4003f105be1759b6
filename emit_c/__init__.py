"""Compiles a module to one readable C file, a shared library, and a Python callable.

`compile` does all of it, and `emit` writes the C alone.

Examples
--------
>>> import hlo, emit_c
>>> import numpy as np
>>> module = hlo.parse("ENTRY e { x = f32[2,3] parameter(0)  ROOT y = f32[2,3] negate(x) }")
>>> negate = emit_c.compile(module)
>>> negate(np.ones((2, 3), np.float32))
array([[-1., -1., -1.],
       [-1., -1., -1.]], dtype=float32)
>>> "-x[" in negate.source
True

Its folders, each of which needs those before it, so that this is the order to read them in: `code`
(C before it is text), `table` (how each opcode is emitted), `kernels` (a kernel and its loops),
`opcodes` and `contraction` (the entries of the table), `custom_calls`, `program` (a whole module:
buffers, schedule, control flow) and `executable` (compiling, loading, calling).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emit_c.conditions import conditions_for
from hlo.backend import without_donations
from hlo.support.lazily import names_of
from hlo.verify import Sound, verify
from interpreter.engine.elided import warn_of_elided
from interpreter.engine.memory import refuse_elided

if TYPE_CHECKING:
    from codegen.subnormals import Subnormals
    from emit_c.executable.executable import Executable
    from emit_c.executable.runtime import set_threads
    from emit_c.kernels.passes import KernelPass
    from emit_c.program.emit import Program, emit
    from emit_c.table import emits_c
    from hlo.instruction import Module

__getattr__ = names_of(
    __name__,
    {
        "Executable": "emit_c.executable.executable",
        "Program": "emit_c.program.emit",
        "emit": "emit_c.program.emit",
        "emits_c": "emit_c.table",
        "set_threads": "emit_c.executable.runtime",
    },
)

__all__ = [
    "Executable",
    "Program",
    "compile",
    "emit",
    "emits_c",
    "set_threads",
]


def compile(  # noqa: A001 - so it is named
    module: Module,
    *,
    optimize: bool = True,
    donate: bool = False,
    remember: bool = True,
    plain: bool = False,
    schedule: KernelPass | None = None,
    subnormals: Subnormals | None = None,
    threads: int | None = None,
) -> Executable:
    """Verify, optimize, emit, compile and load a module.

    Parameters
    ----------
    module : for one device.
    optimize : run the standard pipeline for the CPU first; without it, the code follows the
        module instruction by instruction.
    donate : let results take the memory of those arguments that the module's `input_output_alias`
        and `buffer_donor` name. These arrays then hold results after a call, or anything. Without
        it a call leaves its arguments as they are.
    remember : use the user's cache: load the library that was made of the same module before, or
        store the new one. The cache's keys know the files of PyHLO, but not the changes that a
        running program has made to its tables.
    plain : loops as one would write them by hand, to be read: see `emit`.
    schedule : a pass of the user's over such loops. The user's cache is not used then.
    subnormals : "flush": results that are subnormal numbers are zeros, and such operands count as
        zeros, as in XLA's code for CPUs, because many processors compute with them a hundred times
        as slowly. "keep": as IEEE 754 says, and as the interpreter does. By default as
        `$PYHLO_SUBNORMALS` says, else "flush". It holds during a call, on all threads of it.
    threads : a call takes at most so many. By default it takes all or one, whichever has been
        faster so far. Values are the same.

    Returns
    -------
    Executable
        a function of the module's arguments, as NumPy arrays, that returns NumPy arrays; its
        attribute `source` is the C.

    Raises
    ------
    HloError
        HLO020 to HLO099 if the module is not well-formed (C checks no bounds, so shapes must be
        right), HLO113 if the module is too large for the memory, HLO115 if computations call each
        other too deeply, HLO180 if there is no C compiler, HLO181 if an instruction can't be
        emitted, HLO182 if the compiler refuses the code, HLO204 for options that can't be.
    """
    from emit_c.executable.compilation import Compilation  # noqa: PLC0415

    sound = Sound()
    verify(module, sound)
    warn_of_elided(module)
    refuse_elided(module)
    taken = module if donate else without_donations(module)
    chosen = conditions_for(subnormals, threads)
    return Compilation(taken, sound, optimize, remember, plain, chosen, schedule).executable()
