"""The choice of an engine for a program."""

from __future__ import annotations

import os
import warnings
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from hlo.errors.error import HloError, did_you_mean
from hlo_jax.engines.compiled import CompiledC
from hlo_jax.engines.cuda import Cuda
from hlo_jax.engines.interpreter import Interpreter
from hlo_jax.engines.switching import Switching
from hlo_jax.programs.lines import line_at
from hlo_jax.programs.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from hlo_jax.engines.engine import Engine
    from hlo_jax.engines.watched import Watch
    from hlo_jax.programs.program import JaxProgram

VARIABLE = "PYHLO_JAX_ENGINE"


def _or_interpreter(name: str, program: JaxProgram) -> Engine:
    """The engine that compiles a program, or the interpreter with a warning where none can."""
    try:
        return COMPILERS[name](program)
    except HloError as error:
        # A call that a custom call's function would refuse is an error of the run, as in XLA.
        if error.code not in ("HLO181", "HLO122"):
            raise
        if error.code == "HLO181":
            line = line_at(program.module, error.span)
            why = f"{error.message} at {line}" if line else error.message
            message = f"{program.module.name} is interpreted: {why}"
            hint = f"(the engine {name}{ONLY} makes this an error)"
            warnings.warn(f"{message} {hint}", RuntimeWarning, stacklevel=2)
        return Interpreter(program, error.message)


COMPILERS: Final[dict[str, Callable[[JaxProgram], Engine]]] = {
    "c": CompiledC,
    "cuda-host": lambda program: Cuda(program, "host"),
    "cuda": lambda program: Cuda(program, "gpu"),
}
# Behind the name of a compiler: its programs are compiled, or an error.
ONLY: Final = "-only"
ENGINES: Final[dict[str, Callable[[JaxProgram], Engine]]] = {
    "auto": Switching,
    "interpreter": Interpreter,
    **{name: partial(_or_interpreter, name) for name in COMPILERS},
    **{f"{name}{ONLY}": compiled for name, compiled in COMPILERS.items()},
}
DEFAULT = "auto"


_watches: list[Watch] = []


@contextmanager
def watching(watch: Watch) -> Generator[None]:
    """Watch the programs that are compiled meanwhile."""
    _watches.append(watch)
    try:
        yield
    finally:
        _watches.remove(watch)


def engine_for(program: JaxProgram) -> Engine:
    """The engine that the program's compiler option `pyhlo_engine` or the environment names.

    Raises
    ------
    OptionError
        If there is no engine of that name.
    """
    given = program.options.overrides.get("pyhlo_engine")
    name = given or os.environ.get(VARIABLE) or DEFAULT
    if name not in ENGINES:
        where = "the compiler option pyhlo_engine" if given else VARIABLE
        known = ", ".join(ENGINES)
        hint = " ".join(did_you_mean(name, ENGINES))
        raise OptionError(f"{where}={name!r}: the engines are {known}. {hint}".rstrip())
    engine = ENGINES[name](program)
    for watch in _watches:
        engine = watch.wrap(engine, program)
    return engine
