"""Functions of other libraries that emitted code calls, through pointers that it gets when loaded.

So the C file names no library, and the compiler needs none: `load_functions` takes the pointers,
in the order of `Program.functions`.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from interpreter.custom_calls.lapack import library

if TYPE_CHECKING:
    from collections.abc import Sequence


class Foreign:
    """The functions that a C file calls.

    Attributes
    ----------
    declared : by the function's name, the declaration of the pointer to it.
    """

    def __init__(self) -> None:
        self.declared: dict[str, str] = {}

    def function(self, name: str, declaration: str) -> str:
        """What a function is called by in C: its name and an underscore, as no other name ends.

        Parameters
        ----------
        declaration : of a pointer to it, with `{}` for the pointer's name: `s32 (*{})(s32, char)`.
        """
        pointer = f"{name}_"
        self.declared[name] = f"static {declaration.format(pointer)};\n"
        return pointer

    def text(self) -> str:
        """The pointers, and the function that takes them; nothing where no function is called."""
        if not self.declared:
            return ""
        lines = "".join(
            f"  {name}_ = (void *)functions[{i}];\n" for i, name in enumerate(self.declared)
        )
        head = "void load_functions(void *const *functions)"
        return f"{''.join(self.declared.values())}\n{head} {{\n{lines}}}\n"


def hand_over(loaded: ctypes.CDLL, names: Sequence[str]) -> None:
    """Give a loaded library the functions that it calls, from the library of LAPACK.

    Parameters
    ----------
    names : such as "LAPACKE_sgetrf", without the prefix that OpenBLAS has in its wheel.
    """
    if names:
        found = [getattr(library(), f"scipy_{name}") for name in names]
        addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in found]
        loaded.load_functions.restype = None
        loaded.load_functions((ctypes.c_void_p * len(names))(*addresses))
