"""PyHLO as a shared library for programs that load PJRT plugins and are not Python.

`loadable.c` starts Python in the program's process, and gives the table of `plugin` that JAX finds
without it. The library belongs to the Python that builds it: it names that one's own library and
its folders of packages.
"""

from __future__ import annotations

import json
import site
import sys
import sysconfig
from pathlib import Path

from emit_c.executable.libraries import library
from hlo.errors.error import HloError
from hlo.support.cache import read_sealed

_HEADERS = ("dlfcn.h", "pthread.h", "stdio.h", "stdlib.h", "string.h")
_FLAGS = ("-O1", "-std=gnu11", "-fvisibility=hidden", "-pthread")
# Never unloaded: Python would go on in memory that is gone.
_LINKED = ("-ldl", "-Wl,-z,nodelete") if sys.platform == "linux" else ()
# What C lets Python run, in the module __main__ of whoever has started it, with the address of
# `given` and the room for an error.
_START = """
def _pyhlo_start(address, room):
    import ctypes, site, sys
    try:
        for folder in FOLDERS:
            if folder not in sys.path:
                site.addsitedir(folder)
        from hlo_jax.loadable.start import start
        ctypes.c_size_t.from_address(address).value = start()
    except BaseException as error:
        where = f"Python is that of {sys.prefix}; the library was built by that of BUILT"
        text = f"{type(error).__name__}: {error} ({where})".encode()[:room - 1]
        ctypes.memmove(address + ctypes.sizeof(ctypes.c_size_t), text, len(text))
_pyhlo_start(ADDRESS, ROOM)
del _pyhlo_start
"""


def build(path: Path) -> None:
    """Write `libpyhlo_pjrt.so`, whose function `GetPjrtApi` gives PJRT's table.

    Raises
    ------
    HloError
        HLO180 if there is no C compiler, HLO200 if this Python has no shared library, or the file
        can't be written.
    """
    made = read_sealed(library([text()], _FLAGS, _LINKED))
    assert made is not None, "it was compiled just now"
    try:
        path.write_bytes(made)
    except OSError as error:
        raise HloError("HLO200", f"cannot write {path}: {error.strerror}") from error


def text() -> str:
    """All of the library's C."""
    defined = {
        "PYTHON_LIBRARY": _python_library(),
        "PYTHON_HOME": sys.base_prefix,
        "START": _start(),
    }
    head = [f"#include <{name}>" for name in _HEADERS]
    head += [f"#define {name} {_quoted(value)}" for name, value in defined.items()]
    return "\n".join([*head, "", Path(__file__).with_name("loadable.c").read_text()])


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _start() -> str:
    folders = [*site.getsitepackages(), str(Path(__file__).parents[2])]
    lines = _START.replace("FOLDERS", repr(folders)).replace("BUILT", sys.prefix)
    # It becomes a format of C, for two numbers.
    return lines.replace("%", "%%").replace("ADDRESS", "%llu").replace("ROOM", "%zu")


def _python_library() -> str:
    """The shared library of this Python.

    Raises
    ------
    HloError
        HLO200 if it has none: it was built into the program `python`.
    """
    names = [sysconfig.get_config_var(name) for name in ("INSTSONAME", "LDLIBRARY")]
    folders = [sysconfig.get_config_var("LIBDIR"), f"{sys.base_prefix}/lib"]
    for folder in folders:
        for name in names:
            path = Path(str(folder), str(name))
            if path.suffix != ".a" and path.is_file():
                return str(path)
    raise HloError(
        "HLO200",
        f"the Python of {sys.base_prefix} has no shared library, so no other program can start it",
        notes=["Debian: apt install libpython3-dev; pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared"],
    )
