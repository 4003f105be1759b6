"""LAPACK in the shared library of the `scipy-openblas32` wheel, called through its C interface.

LAPACK knows four types, s d c z, by the first letter of a routine's name, and works in place on
matrices in column-major order.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

# The letters of LAPACK's types, by NumPy type.
LETTERS = {
    np.dtype(np.float32): "s",
    np.dtype(np.float64): "d",
    np.dtype(np.complex64): "c",
    np.dtype(np.complex128): "z",
}
COLUMN_MAJOR = 102  # LAPACK_COL_MAJOR, the first argument of every function
PREFIX = "scipy_"  # of all names in the library


@cache
def library() -> ctypes.CDLL:
    """The shared library, loaded once, and told to compute on the thread that calls it.

    Its own threads wait for each other actively: beside other work on the machine, the solution of
    4 equations then takes milliseconds.
    """
    loaded = ctypes.CDLL(str(library_file()))
    loaded[f"{PREFIX}openblas_set_num_threads"](1)
    return loaded


def library_file() -> Path:
    """The path of the shared library."""
    import scipy_openblas32  # noqa: PLC0415  it imports a lot, and few programs call LAPACK

    folder = Path(scipy_openblas32.get_lib_dir())
    files = sorted(folder.glob(f"*{scipy_openblas32.get_library()}*"))
    return next(f for f in files if f.suffix in (".so", ".dylib", ".dll"))


def lapack(routine: str, *arguments: int | str | np.ndarray[Any, Any]) -> int:
    """Call a LAPACK routine; gives its `info`: 0, or the number of the pivot at fault.

    Parameters
    ----------
    routine : with its letter, such as "sgetrf"; arguments as LAPACKE's, without the order.
    arguments : numbers, letters, and arrays that are read and written in place.
    """
    function = getattr(library(), f"{PREFIX}LAPACKE_{routine}")
    return int(function(COLUMN_MAJOR, *map(_argument, arguments)))


def call_blas(routine: str, *arguments: int | str | np.ndarray[Any, Any]) -> None:
    """Call a routine of BLAS by its Fortran interface, which takes everything by address."""
    converted = [_argument(value) for value in arguments]
    by_address = [a if isinstance(a, ctypes.c_void_p) else ctypes.byref(a) for a in converted]
    getattr(library(), f"{PREFIX}{routine}_")(*by_address)


def _argument(value: int | str | np.ndarray[Any, Any]) -> Any:
    if isinstance(value, str):
        return ctypes.c_char(value.encode())
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_int(value)


def column_major(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that LAPACK may write to."""
    return np.array(array, order="F")


def leading(matrix: np.ndarray[Any, Any]) -> int:
    """The leading dimension of a matrix in column-major order: its number of rows."""
    return max(1, matrix.shape[0])
