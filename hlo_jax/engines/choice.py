"""The choice of an engine for a program."""

from __future__ import annotations

import os
import re
import warnings
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from emit_c.conditions import conditions_for
from hlo.backend_names import find, is_file, names
from hlo.errors.error import HloError, did_you_mean
from hlo_jax.engines.compiled import OnBackend
from hlo_jax.engines.switching import Switching
from hlo_jax.private.versions import VIEW
from hlo_jax.programs.lines import line_at
from hlo_jax.programs.options import OptionError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from hlo.backend import Backend
    from hlo_jax.engines.engine import Engine
    from hlo_jax.engines.watched import Watch
    from hlo_jax.programs.program import JaxProgram

VARIABLE = "PYHLO_JAX_ENGINE"
FLAGS = "XLA_FLAGS"


# After the name of a backend: its programs are compiled, or an error.
ONLY: Final = "-only"
AUTO, INTERPRETER = "auto", "interpreter"
DEFAULT = AUTO


def engines() -> list[str]:
    """The names of all engines, but of those in files, and of XLA, which JAX has without us."""
    compiling = [name for name in names() if name not in (INTERPRETER, "xla")]
    return [AUTO, INTERPRETER, *compiling, *(f"{name}{ONLY}" for name in compiling)]


def _or_interpreter(name: str, backend: Backend, program: JaxProgram) -> Engine:
    """The program on a backend, or interpreted with a warning where that refuses it."""
    try:
        return OnBackend(program, backend)
    except HloError as error:
        # A call that a custom call's function would refuse is an error of the run, as in XLA.
        if error.code not in ("HLO181", "HLO122") or backend.name == INTERPRETER:
            raise
        if error.code == "HLO181":
            line = line_at(program.module, error.span)
            why = f"{error.message} at {line}" if line else error.message
            message = f"{program.module.name} is interpreted: {why}"
            hint = f"(the engine {name}{ONLY} makes this an error)"
            warnings.warn(f"{message} {hint}", RuntimeWarning, stacklevel=2)
        return OnBackend(program, find(INTERPRETER), error.message)


_watches: list[Watch] = []


@contextmanager
def watching(watch: Watch) -> Generator[None]:
    """Watch the programs that are compiled meanwhile."""
    _watches.append(watch)
    try:
        yield
    finally:
        _watches.remove(watch)


def _check(overrides: Mapping[str, str]) -> None:
    """Refuse a compiler option with a value that it can't have."""
    given = overrides.get("pyhlo_threads", "1")
    threads = int(given) if given.isdecimal() else 0
    try:
        conditions_for(overrides.get("pyhlo_subnormals"), threads)
    except HloError as error:
        raise OptionError(error.message) from error


def engine_for(program: JaxProgram) -> Engine:
    """The engine that the program's compiler option `pyhlo_engine` or the environment names.

    Raises
    ------
    OptionError
        If there is no engine of that name, or an option can't have its value.
    """
    given = program.options.overrides.get("pyhlo_engine")
    name = given or os.environ.get(VARIABLE) or DEFAULT
    _check(program.options.overrides)
    engine = Switching(program) if name == AUTO else _named(name, given, program)
    asked = (*_asked_of_xla(os.environ.get(FLAGS, "")), *_asked_to_view(os.environ.get(VIEW, "")))
    for watch in (*_watches, *asked):
        engine = watch.wrap(engine, program)
    return engine


@cache
def _asked_of_xla(flags: str) -> tuple[Watch, ...]:
    """The watch that XLA's own options for dumps ask for."""
    given: dict[str, str] = {}
    for word in flags.split():
        name, _, value = word.partition("=")
        given[name] = value
    folder, pattern = given.get("--xla_dump_to", ""), given.get("--xla_dump_hlo_pass_re")
    if not folder or folder == "-":
        return ()
    from hlo_jax.engines.watched import Watch  # noqa: PLC0415  it needs the optimizer and C

    return (Watch(dump_to=Path(folder), between=None if pattern is None else re.compile(pattern)),)


@cache
def _asked_to_view(path: str) -> tuple[Watch, ...]:
    """The watch that writes a page for a browser."""
    if not path:
        return ()
    from hlo_jax.engines.watched import Watch  # noqa: PLC0415  it needs the optimizer and C

    return (Watch(view=Path(path)),)


def _named(name: str, given: str | None, program: JaxProgram) -> Engine:
    """The engine of a backend: our own, an installed package's, or `FILE.py:NAME`."""
    try:
        backend = find(name.removesuffix(ONLY), "engine")
    except HloError as error:
        if error.code != "HLO204" or is_file(name):
            raise
        where = "the compiler option pyhlo_engine" if given else VARIABLE
        known = ", ".join(engines())
        hint = " ".join(did_you_mean(name, engines()))
        message = f"{where}={name!r}: the engines are {known}, and your own: FILE.py:NAME. {hint}"
        raise OptionError(message.rstrip()) from None
    if name.endswith(ONLY):
        return OnBackend(program, backend)
    return _or_interpreter(name, backend, program)
