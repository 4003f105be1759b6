"""The runtime of compiled modules: a library of threads, and a fast way from Python into C.

They are C files beside this one. They are compiled once, with the system's compiler, and kept in
the same cache as the modules. `runtime.c` has no Python in it; modules find its functions when they
are loaded, and it is part of what is written ahead of time. `trampoline.c` is an extension of
Python; where Python's headers are missing, ctypes does its work, more slowly. It takes longest to
compile, and is needed last, when a module is called: so that is done beside everything else.
"""

from __future__ import annotations

import ctypes
import re
import sysconfig
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_c.executable.libraries import library

if TYPE_CHECKING:
    from collections.abc import Generator

FOLDER = Path(__file__).parent
OUT_OF_MEMORY = 2  # HLO_OUT_OF_MEMORY in runtime.h
# The files of the library: those of a module for one device, and those of several devices.
ALONE = ("runtime.c", "helpers.c", "shares.c", "quota.c", "calls.c", "thread.c")
HEADERS = ("thread.h", "shares.h", "helpers.h", "quota.h", "calls.h")
LIBRARY = (*ALONE, "collectives.c", "devices.c")
# And of several processes, which nothing that is written ahead of time needs.
PROCESSES = ("processes.c", "messages.c", "waiting.c", "mpi.c", "sockets.c")


@dataclass(frozen=True, slots=True)
class Runtime:
    """The loaded libraries.

    Attributes
    ----------
    threads : the library of runtime.c.
    trampoline : the extension module of trampoline.c, or None.
    """

    threads: ctypes.CDLL
    trampoline: Any


def c_files(*, several: bool = False) -> dict[str, str]:
    """The runtime library's own files, by name.

    Parameters
    ----------
    several : with those that several devices need.
    """
    others = ("thread.h", "devices.h", "transport.h", *LIBRARY[len(ALONE) :]) if several else ()
    texts = {name: (FOLDER / name).read_text() for name in ("runtime.h", *ALONE, *others)}
    # Programs that were written to be linked with one file need no other one.
    parts = [(FOLDER / name).read_text() for name in HEADERS]
    whole = "\n".join([*parts, *(texts.pop(name) for name in ALONE)])
    whole = re.sub(r'#define _GNU_SOURCE\n|#include "\w+\.h"\n', "", whole)
    return texts | {ALONE[0]: '#define _GNU_SOURCE\n#include "runtime.h"\n' + whole}


def in_one_file(name: str) -> str:
    """A C file of this folder, with those in it that it includes of the same folder."""
    text = (FOLDER / name).read_text()
    return re.sub(r'#include "(\w+\.[ch])"\n', lambda m: in_one_file(m[1]), text)


@cache
def runtime() -> Runtime:
    """Load the libraries, and compile them where that was not done yet.

    Raises
    ------
    HloError
        HLO180 if there is no compiler, HLO182 if it fails.
    """
    threads = _threads()
    trampoline = _trampoline()
    question = ctypes.cast(ctypes.pythonapi.PyErr_CheckSignals, ctypes.c_void_p)
    threads.hlo_set_question(trampoline.signalled if trampoline else question)
    return Runtime(threads, trampoline)


@cache
def _threads() -> ctypes.CDLL:
    """The library of runtime.c, while that of trampoline.c is being compiled."""
    if headers():
        _trampoline_library()
    path = library([in_one_file(name) for name in (*LIBRARY, *PROCESSES)], ("-O2", "-pthread"), ())
    threads = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    threads.hlo_slots.restype = ctypes.c_int64
    threads.hlo_threads.restype = ctypes.c_int64
    threads.hlo_set_threads.restype = ctypes.c_int64
    threads.hlo_set_threads.argtypes = [ctypes.c_int64]
    threads.hlo_usual_floats.restype = ctypes.c_int64
    threads.hlo_set_floats.argtypes = [ctypes.c_int64]
    threads.hlo_set_question.argtypes = [ctypes.c_void_p]
    addresses = ctypes.POINTER(ctypes.c_void_p)
    threads.hlo_run_devices.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, addresses, addresses, addresses, ctypes.c_void_p,
    ]  # fmt: skip
    threads.hlo_run_process.argtypes = [
        ctypes.c_void_p, ctypes.c_int64, *threads.hlo_run_devices.argtypes,
    ]  # fmt: skip
    threads.hlo_gather.argtypes = [
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p,
    ]  # fmt: skip
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    threads.hlo_runs.restype = number
    threads.hlo_runs.argtypes = [pointer]
    threads.hlo_mpi_wire.restype = pointer
    threads.hlo_mpi_wire.argtypes = [pointer, ctypes.c_uint64, *[number] * 4, pointer]
    threads.hlo_sockets.restype = pointer
    threads.hlo_sockets.argtypes = [number, pointer]
    threads.hlo_socket_wire.restype = pointer
    threads.hlo_socket_wire.argtypes = [pointer, number, number, pointer, number]
    threads.hlo_say_bye.argtypes = [pointer]
    return threads


def headers() -> list[str]:
    """The folders of the headers of Python and NumPy; empty if there are none."""
    folders = [sysconfig.get_path("include"), np.get_include()]
    files = ("Python.h", "numpy/arrayobject.h")
    there = all((Path(f) / name).exists() for f, name in zip(folders, files, strict=True))
    return folders if there else []


@cache
def _trampoline_library() -> Future[Path]:
    """The library of trampoline.c, compiled by another thread."""
    text = in_one_file("trampoline.c")
    flags = ("-O2", *(f"-I{folder}" for folder in headers()))
    versions = f"// Python {sysconfig.get_config_var('SOABI')}, NumPy {np.__version__}\n"
    thread = ThreadPoolExecutor(1)
    future = thread.submit(library, [versions + text], flags, ())
    thread.shutdown(wait=False)
    return future


def _trampoline() -> Any:
    """The extension module; None, with a warning, where Python's headers are missing."""
    if not headers():
        warnings.warn(
            "Python.h is missing, so calls of compiled modules take several microseconds more "
            "(Debian, Ubuntu: apt install python3-dev)",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    loader = ExtensionFileLoader("pyhlo_trampoline", str(_trampoline_library().result()))
    module = module_from_spec(ModuleSpec("pyhlo_trampoline", loader, origin=loader.path))
    loader.exec_module(module)
    return module


def set_threads(number: int) -> int:
    """Run compiled modules on so many threads from now on; gives how many they were.

    At most as many as processors are usable, or as `$PYHLO_THREADS` said when the first module was
    compiled.
    """
    return _threads().hlo_set_threads(number)


@contextmanager
def usual_floats() -> Generator[None]:
    """Code that runs meanwhile keeps subnormal numbers, though compiled code has called it."""
    before = _threads().hlo_usual_floats()
    try:
        yield
    finally:
        _threads().hlo_set_floats(before)


def slots() -> int:
    """The number of parts of a loop that may run at the same time."""
    return _threads().hlo_slots()
