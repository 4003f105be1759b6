"""Functions of other libraries that emitted code calls.

A library that Python loads calls them through pointers, so that it is linked with nothing:
`load_functions` takes the pointers, in the order of `Program.functions`. A program of C is linked
with the other library, whose functions it gives to `load_functions` itself.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Final

from interpreter.custom_calls.lapack import PREFIX, library, library_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# HLO_FAILED in runtime.h.
FAILED: Final = 3
# Functions of this process that emitted code may call, by name: their addresses. They give 0, or
# the result of `fail`.
PROVIDED: dict[str, int] = {}
# OpenBLAS's function that sets its number of threads. Other libraries of LAPACK have no such one.
SET_THREADS: Final = "openblas_set_num_threads"
_failed: dict[int, BaseException] = {}  # by the thread


def fail(error: BaseException) -> int:
    """The status of a provided function that fails; the exception waits for `failure`."""
    _failed[threading.get_ident()] = error
    return FAILED


def failure(thread: int = 0) -> BaseException:
    """The exception of the function that failed last on a thread, or on this one."""
    error = _failed.pop(thread or threading.get_ident(), None)
    return error or RuntimeError("a function that C called failed")


# The lines before prototypes: how a library that is linked may call its functions.
_LINKED = """\
// LAPACK's functions. Where a library's names for them are longer, as scipy_LAPACKE_sgetrf is,
// compile with -D'PYHLO_LAPACK(name)=scipy_##name'.
#ifndef PYHLO_LAPACK
#define PYHLO_LAPACK(name) name
#endif
"""


class Foreign:
    """The functions that a C file calls.

    Attributes
    ----------
    declared : by the function's name, its declaration, with `{}` for what C calls it by.
    """

    def __init__(self) -> None:
        self.declared: dict[str, str] = {}

    def function(self, name: str, declaration: str) -> str:
        """The name of a function in C: with an underscore at its end, as no other name has.

        Parameters
        ----------
        declaration : with `{}` for that name: `s32 {}(s32, char)`.
        """
        self.declared[name] = declaration
        return _called(name)

    @property
    def called(self) -> list[str]:
        """The names of the functions in C."""
        return [_called(name) for name in self.declared]

    def text(self) -> str:
        """The pointers, and the function that takes them; nothing where no function is called."""
        if not self.declared:
            return ""
        pointers = "".join(
            f"static {declaration.format(f'(*{_called(name)})')};\n"
            for name, declaration in self.declared.items()
        )
        lines = "".join(
            f"  {_called(name)} = (void *)functions[{i}];\n" for i, name in enumerate(self.declared)
        )
        head = "void load_functions(void *const *functions)"
        return f"{pointers}\n{head} {{\n{lines}}}\n"


def _called(name: str) -> str:
    return f"{name}_"


def linked_functions(functions: Mapping[str, str]) -> str:
    """The functions as the linker finds them, in the array `functions`; nothing if there are none.

    Parameters
    ----------
    functions : declarations by name, as `Foreign.declared`.
    """
    if not functions:
        return ""
    lines = [_LINKED]
    for name, declaration in functions.items():
        weak = "__attribute__((weak)) " if name == SET_THREADS else ""
        lines.append(f"{weak}{declaration.format(f'PYHLO_LAPACK({name})')};\n")
    addresses = ", ".join(f"(void *)PYHLO_LAPACK({name})" for name in functions)
    return "".join([*lines, f"static void *const functions[] = {{{addresses}}};\n\n"])


def linked() -> tuple[str, ...]:
    """The compiler's arguments for a program that calls the interpreter's library of LAPACK."""
    file = library_file()
    return (f"-DPYHLO_LAPACK(name)={PREFIX}##name", str(file), f"-Wl,-rpath,{file.parent}")


def hand_over(loaded: ctypes.CDLL, names: Iterable[str]) -> None:
    """Give a loaded library the functions that it calls: those of `PROVIDED`, else LAPACK's.

    Parameters
    ----------
    names : such as "LAPACKE_sgetrf", without the prefix that OpenBLAS has in its wheel.
    """
    addresses = [PROVIDED.get(name) or _of_lapack(name) for name in names]
    if addresses:
        loaded.load_functions.restype = None
        loaded.load_functions((ctypes.c_void_p * len(addresses))(*addresses))


def _of_lapack(name: str) -> int:
    return ctypes.cast(getattr(library(), f"{PREFIX}{name}"), ctypes.c_void_p).value or 0
