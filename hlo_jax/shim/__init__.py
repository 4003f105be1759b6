"""The part of the plugin that is C, and the structs that it shares with Python.

The C files here are one library, which is compiled once with the system's compiler and kept in
PyHLO's cache, as modules are. The head of their text is written here: what compiled modules return,
and the structs of PJRT's functions and those of PJRT's handles, from the tables that Python reads
them by.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from emit_c.executable.libraries import library
from emit_c.executable.runtime import in_one_file
from hlo_jax.abi.functions import FUNCTIONS, LAYOUT_FUNCTIONS
from hlo_jax.abi.members import declaration
from hlo_jax.abi.structs import ExecuteOptions
from hlo_jax.shim import records

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADERS = ("pthread.h", "time.h", "stdbool.h", "stdint.h", "stdio.h", "stdlib.h", "string.h")
# Functions of Python that the shim asks for, beside those of the table.
ASKED = ("raised", "out_of_memory", "fits_memory", "start_workers", "run_in_python")
# In this order.
_FILES = ("events.c", "buffers.c", "transfers.c", "executables.c", "calls.c", "queue.c")


@cache
def shim() -> ctypes.CDLL:
    """The loaded library.

    Raises
    ------
    HloError
        HLO180 if there is no C compiler, HLO182 if it refuses the file.
    """
    loaded = ctypes.CDLL(str(library([text()], ("-O2", "-std=gnu11", "-pthread"), ())))
    address, size = ctypes.c_size_t, ctypes.c_size_t
    for name, result, *arguments in (
        ("make_error", address, ctypes.c_int, ctypes.c_char_p, size),
        ("make_buffer", address, ctypes.c_int, size, address, address, size, *(address,) * 3),
        ("make_transfers", address, size, address),
        ("delete_buffer", None, address),
        ("hold", None, address),
        ("let_go", None, address),
        ("make_layout", address, size, address),
        ("take_dead", address),
        ("wait_for_buffer", address, address),
        ("work", None, ctypes.c_int),
        ("workers_are_there", None, ctypes.c_int),
        ("close_queue", None),
        ("is_busy", ctypes.c_int),
    ):
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def text() -> str:
    """All of the shim's C."""
    head = "".join(f"#include <{name}>\n" for name in _HEADERS)
    body = [Path(__file__).with_name(name).read_text() for name in _FILES]
    callbacks = [f"ASKS_PYTHON({name})\n" for name in (*FUNCTIONS, *LAYOUT_FUNCTIONS, *ASKED)]
    ours = map(in_one_file, ("devices.h", "pages.h"))
    return "\n".join([head, *ours, *_declarations(), *body, *callbacks])


def _declarations() -> Iterator[str]:
    for record in records.RECORDS:
        yield declaration(record, record.__name__.removesuffix("Record"))
    yield declaration(ExecuteOptions, "ExecuteOptions")
    for name, struct in (FUNCTIONS | LAYOUT_FUNCTIONS).items():
        if struct is not None:
            yield declaration(struct, f"{name}_Args")


def answer(name: str, function: int) -> int:
    """Let a function of Python answer one of the table's, or `raised`; 0 when Python has ended.

    Parameters
    ----------
    function : address of size_t f(args), which gives 1 or an error.

    Returns
    -------
    The address for the table.
    """
    ctypes.c_size_t.in_dll(shim(), f"asked_{name}").value = function
    return address_of(f"ask_{name}") or 0


def address_of(name: str) -> int | None:
    """The address of a function or variable of the shim; None if it has none of that name."""
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(shim(), name))
    except ValueError:
        return None
