"""Backends by name: our own, those of installed packages, and those in the user's files.

A name is `FILE.py:NAME`, of a function of a module, an object with a method `compile`, a class of
such objects, or a `Backend`; an entry point of the group `pyhlo.backends` of an installed package;
or one of our own. `find` is asked wherever a platform or an engine is named.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hlo.backend import EXAMPLE, Backend, ModuleCompiler, StreamExecutor, TransferManager
from hlo.errors.error import HloError, did_you_mean
from hlo.support.own_code import at_line, file_of, line_of, load_entry, named_in_file, spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.metadata import EntryPoint

    from hlo.instruction import Module

# Where installed packages enter their backends.
GROUP: Final = "pyhlo.backends"
# Where our own are: a package that brings some has a file `backend` with `BACKENDS`.
OWN: Final = {
    "interpreter": "interpreter.backend",
    "c": "emit_c.backend",
    "cuda": "emit_cuda.backend",
    "cuda-host": "emit_cuda.backend",
    "xla": "hlo_jax.backend",
}
# Names that others give to them.
_CALLED: Final = {"gpu": "cuda", "nvidia": "cuda", "cpu": "c", "host": "c", "numpy": "interpreter"}


def names() -> list[str]:
    """The names of all backends: our own, and those of installed packages."""
    return [*OWN, *(entry.name for entry in _installed() if entry.name not in OWN)]


def _installed() -> Sequence[EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415  it imports the parser of mails

    return list(entry_points(group=GROUP))


def is_file(text: str) -> bool:
    """Whether a text names a backend in a file: `FILE.py:NAME`, or `FILE.py`."""
    return ".py:" in text or text.endswith(".py")


def find(text: str, noun: str = "platform") -> Backend:
    """The backend of a name.

    Parameters
    ----------
    text : "c", or `FILE.py:NAME`.
    noun : a backend is called where it is named, in messages.

    Raises
    ------
    HloError
        HLO200 if a file can't be read; HLO204 if there is no such name; HLO206 if the file fails,
        or what it has is no backend.
    """
    if is_file(text):
        file = Path(text.rpartition(":")[0] if ".py:" in text else text)
        return _of_file(text, file.stat().st_mtime_ns if file.is_file() else 0)
    if text in OWN:
        return import_module(OWN[text]).BACKENDS[text]
    for entry in _installed():
        if entry.name == text:
            value = load_entry(entry)
            return as_backend(file_of(value) or spelled(entry), text, value)
    known = [f"did you mean `{_CALLED[text.lower()]}`?"] if text.lower() in _CALLED else []
    there = f"there are: {', '.join(names())}, and your own: FILE.py:NAME"
    raise HloError(
        "HLO204",
        f"there is no {noun} `{text}`",
        notes=known or did_you_mean(text, names()) or [there],
    )


@cache
def _of_file(text: str, changed: int) -> Backend:  # noqa: ARG001 - a file is read again once it changed
    path, name, value = named_in_file(text, "backend", EXAMPLE, _is_backend)
    return as_backend(path, name, value)


def _is_backend(value: Any) -> bool:
    """Whether a backend looks so, where no name says which function or object it is."""
    named = inspect.isfunction(value) and value.__name__ == "compile"
    return named or isinstance(value, Backend) or callable(getattr(value, "compile", None))


class _OfFunction(ModuleCompiler):
    """The compiler of the smallest backend."""

    def __init__(self, function: Callable[[Module], Any]) -> None:
        self.function = function

    @property
    def compile(self) -> Callable[[Module], Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The function itself, with the options that it has."""
        return self.function


def as_backend(path: str, name: str, value: Any) -> Backend:
    """The backend that the user's own function, object or class is.

    Raises
    ------
    HloError
        HLO206 if it is none.
    """
    if isinstance(value, Backend):
        return replace(value, path=path)
    line = line_of(value)
    if isinstance(value, type):
        try:
            own: Any = value()
        except Exception as error:
            message = f"`{name}()` fails: {type(error).__name__}: {error}"
            note = "a backend is made without arguments"
            raise at_line(Path(path), line, message, note) from None
    else:
        own = value
    if not callable(getattr(own, "compile", None)):
        if not callable(own):
            raise at_line(Path(path), line, f"`{name}` has no `compile`", EXAMPLE)
        own = _OfFunction(own)
    if not _takes(own.compile):
        why = f"`{name}` does not take a module" + ("" if own is not value else " in `compile`")
        raise at_line(Path(path), line, why, EXAMPLE)
    return Backend(
        name,
        _with_defaults(own),
        own if hasattr(own, "to_device") else getattr(own, "transfers", TransferManager()),
        own if hasattr(own, "synchronize") else getattr(own, "executor", StreamExecutor()),
        (inspect.getdoc(value) or "").partition("\n")[0],
        path=path,
        line=line,
    )


def _takes(function: Callable[..., Any]) -> bool:
    """Whether a function can be called with one module."""
    try:
        inspect.signature(function).bind(None)
    except (TypeError, ValueError):
        return False
    return True


def _with_defaults(compiler: Any) -> Any:
    """A compiler of a class of its own, with the methods that it leaves out."""
    if isinstance(compiler, ModuleCompiler) or hasattr(compiler, "optimize"):
        return compiler
    return _OfFunction(compiler.compile)
