"""An optimized module to one readable C file, to a shared library, to a Python callable.

Its folders, each of which needs those before it, so that this is the order to read them in: `code`
(C before it is text), `table` (how each opcode is emitted), `kernels` (a kernel and its loops),
`opcodes` and `contraction` (the entries of the table), `custom_calls`, `program` (a whole module:
buffers, schedule, control flow) and `executable` (compiling, loading, calling).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

import optimizer
from emit_c.executable import module_cache
from emit_c.executable.built import build
from emit_c.executable.executable import Executable
from emit_c.executable.libraries import compilers
from emit_c.executable.pending import PendingExecutable
from emit_c.executable.run_time_sizes import DynamicExecutable
from emit_c.executable.runtime import set_threads, slots
from emit_c.executable.strided import StridedExecutable, without_last_bitcasts
from emit_c.executable.tiles import MissingTiles
from emit_c.program.emit import Program, emit
from emit_c.program.units import Units
from emit_c.table import emits_c
from hlo.support.garbage import no_collection
from hlo.verify import trust, verify
from interpreter.engine.elided import warn_of_elided
from interpreter.engine.memory import refuse_elided
from interpreter.precision import with_explicit_precision
from optimizer.dynamic_padder.boundary import to_static
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.log import Log
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from emit_c.executable.built import Built, StridedView
    from hlo.instruction import Instruction, Module

# Files define their opcodes when they are imported.
for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)

__all__ = [
    "Executable",
    "PendingExecutable",
    "Program",
    "compile",
    "emit",
    "emits_c",
    "set_threads",
]


@overload
def compile(  # noqa: A001 - so it is named
    module: Module,
    *,
    optimize: bool = True,
    donate: bool = False,
    remember: bool = True,
    plain: bool = False,
    wait: Literal[True] = True,
) -> Executable: ...
@overload
def compile(  # noqa: A001 - so it is named
    module: Module,
    *,
    optimize: bool = True,
    donate: bool = False,
    remember: bool = True,
    plain: bool = False,
    wait: Literal[False],
) -> PendingExecutable: ...
def compile(  # noqa: A001 - so it is named
    module: Module,
    *,
    optimize: bool = True,
    donate: bool = False,
    remember: bool = True,
    plain: bool = False,
    wait: bool = True,
) -> Executable | PendingExecutable:
    """Verify, optimize, emit, compile and load a module.

    Parameters
    ----------
    optimize : run the standard pipeline for the CPU first; without it, the code follows the
        module instruction by instruction.
    donate : let results take the memory of those arguments that the module's `input_output_alias`
        and `buffer_donor` name. These arrays then hold results after a call, or anything. Without
        it a call leaves its arguments as they are.
    remember : use the user's cache: load the library that was made of the same module before, or
        store the new one. The cache's keys know the files of PyHLO, but not the changes that a
        running program has made to its tables.
    plain : loops as one would write them by hand, to be read: see `emit`.
    wait : return when the library is ready. Otherwise a thread compiles it, while the interpreter
        answers calls; an error of the thread is raised by the next call.

    Raises
    ------
    HloError
        HLO020 to HLO099 if the module is not well-formed (C checks no bounds, so shapes must be
        right), HLO113 if the module is too large for the memory, HLO115 if computations call each
        other too deeply, HLO180 if there is no C compiler, HLO181 if an instruction can't be
        emitted, HLO182 if the compiler refuses the code.
    """
    sound: set[Instruction] = set()
    verify(module, sound)
    warn_of_elided(module)
    refuse_elided(module)
    make = partial(
        _compile, module, sound, optimize=optimize, donate=donate, remember=remember, plain=plain
    )
    return make() if wait else PendingExecutable(module, make)


@no_collection()
def _compile(
    module: Module,
    sound: set[Instruction],
    *,
    optimize: bool,
    donate: bool,
    remember: bool,
    plain: bool,
) -> Executable:
    header = module.header
    if not donate and (header.input_output_alias or header.buffer_donor):
        kept = replace(header, input_output_alias=(), buffer_donor=())
        module = replace(module, header=kept)
    if is_dynamic(module):
        precise = with_explicit_precision(module)
        if optimize:
            precise = optimizer.optimize(precise, target="cpu", observers=())
            verify(precise, sound)
        static = to_static(precise)
        program = emit(prepare(static.module), plain=plain)
        return DynamicExecutable(module, static, build(program), lambda: program.source)
    key = module_cache.cache_key(module, optimize, plain) if remember else ""

    def fresh() -> Built:
        with ExitStack() as ends:
            running = ends.enter_context(compilers())
            # A module that the cache does not know is most likely new, so compilers may begin with
            # parts of it before it is known whether its library is there.
            of_tiles = (lambda: ends.enter_context(compilers())) if remember else None
            tiles = MissingTiles(of_tiles)
            units = Units(slots(), running.take, tiles.look) if remember else Units(slots())
            if remember:
                running.prepare()
            made = _written(module, optimize=optimize, plain=plain, units=units)
            built = build(
                made.program, made.views, running, tiles, lambda: verify(made.module, sound)
            )
        if remember:
            module_cache.store_built(key, built)
        return built

    def loaded(built: Built) -> Executable:
        strided = StridedExecutable if built.views else Executable
        return strided(
            module.entry,
            built,
            lambda: _written(module, optimize=optimize, plain=plain).program.source,
        )

    built = (module_cache.load_built(key) if remember else None) or fresh()
    try:
        return loaded(built)
    except OSError:
        if built.library.exists():
            raise
        # Another process has removed the library from the cache since it was found.
        return loaded(fresh())


class _Written(NamedTuple):
    """The C of a module.

    Attributes
    ----------
    module : the optimized module.
    views : the strided view of each result that is one, by its number.
    """

    module: Module
    program: Program
    views: Mapping[int, StridedView]


def _written(
    module: Module, *, optimize: bool, plain: bool, units: Units | None = None
) -> _Written:
    """Write a module as C.

    Parameters
    ----------
    units : hands files to compilers while others are still being written.
    """
    log = Log()
    made = optimizer.optimize(module, target="cpu", log=log) if optimize else module
    viewed, views = without_last_bitcasts(made)
    prepared = trust(prepare(viewed, log=log))
    try:
        return _Written(made, emit(prepared, units=units, plain=plain), views)
    except Exception:
        verify(made)  # its error says more, where there is one
        raise
