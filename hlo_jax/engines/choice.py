"""The choice of an engine for a program."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hlo.errors.error import HloError, did_you_mean
from hlo_jax.engines.cuda import Cuda
from hlo_jax.engines.interpreter import Interpreter
from hlo_jax.engines.parts import compiled_c
from hlo_jax.engines.switching import Switching
from hlo_jax.programs.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from hlo_jax.engines.engine import Engine
    from hlo_jax.engines.watched import Watch
    from hlo_jax.programs.program import JaxProgram

VARIABLE = "PYHLO_JAX_ENGINE"


def _or_interpreter(program: JaxProgram, compiled: Callable[[JaxProgram], Engine]) -> Engine:
    """The engine that compiles a program where one can, else the interpreter."""
    try:
        return compiled(program)
    except HloError as error:
        # A call that a custom call's function would refuse is an error of the run, as in XLA.
        if error.code not in ("HLO181", "HLO122"):
            raise
        return Interpreter(program, error.message)


ENGINES: Final[dict[str, Callable[[JaxProgram], Engine]]] = {
    "auto": Switching,
    "interpreter": Interpreter,
    "c": lambda program: _or_interpreter(program, compiled_c),
    "cuda-host": lambda program: _or_interpreter(program, lambda p: Cuda(p, "host")),
    "cuda": lambda program: _or_interpreter(program, lambda p: Cuda(p, "gpu")),
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
