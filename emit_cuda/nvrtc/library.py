"""NVRTC itself: where it is, and its functions through ctypes.

References
----------
NVIDIA, *NVRTC*, the user guide.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ADVICE = "pip install 'pyhlo[cuda-compile]'"


@dataclass(frozen=True, slots=True)
class Nvrtc:
    """The compiler, loaded.

    Attributes
    ----------
    version : as (13, 0).
    includes : folders with cuda_fp16.h and its like.
    """

    functions: ctypes.CDLL
    version: tuple[int, int]
    includes: tuple[Path, ...]

    def call(self, function: str, *arguments: object) -> int:
        """Call a function; gives its status, 0 where all is well."""
        return int(getattr(self.functions, function)(*arguments))

    def data(self, program: ctypes.c_void_p, form: str) -> bytes:
        """Something that NVRTC has made of a program: `CUBIN`, `PTX`, `ProgramLog`."""
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{form}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self.call(f"nvrtcGet{form}", program, buffer)
        return buffer.raw

    def message(self, status: int) -> str:
        """A status in words."""
        tell = self.functions.nvrtcGetErrorString
        tell.restype = ctypes.c_char_p
        return str((tell(status) or b"").decode())


def missing() -> str:
    """The reason why NVRTC compiles nothing; empty if it does."""
    return "" if any(_libraries()) else f"NVRTC is not installed: {ADVICE}"


@cache
def nvrtc() -> Nvrtc:
    """The compiler.

    Raises
    ------
    HloError
        HLO195 if it is not installed, or does not load.
    """
    libraries = list(_libraries())
    if not libraries:
        raise HloError("HLO195", "NVRTC, which compiles CUDA C, is not installed", notes=[ADVICE])
    library = libraries[0]
    try:
        # The compiler looks for this one by its name only, and finds it if it is there already.
        for builtins in sorted(library.parent.glob("libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
        functions = ctypes.CDLL(str(library))
    except OSError as error:
        raise HloError("HLO195", f"NVRTC does not load: {error}", notes=[ADVICE]) from error
    major, minor = ctypes.c_int(), ctypes.c_int()
    functions.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    includes = tuple(root / "include" for root in _roots() if (root / "include").is_dir())
    return Nvrtc(functions, (major.value, minor.value), includes)


def _libraries() -> Iterator[Path]:
    return libraries_named("libnvrtc.so.[0-9]*")


def libraries_named(pattern: str) -> Iterator[Path]:
    """The libraries of some names, in wheels and then in a toolkit."""
    for root in _roots():
        for folder in ("lib", "lib64"):
            yield from sorted((root / folder).glob(pattern))


def _roots() -> Sequence[Path]:
    """The folders in which CUDA may be: in NVIDIA's wheels, then where a toolkit is."""
    spec = find_spec("nvidia")
    wheels = [Path(path) for path in spec.submodule_search_locations or ()] if spec else []
    inside = [root for wheel in wheels for root in sorted(wheel.iterdir()) if root.is_dir()]
    named = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    return [*inside, *(Path(name) for name in named if name), Path("/usr/local/cuda")]


def tool(name: str) -> Path | None:
    """A program of the toolkit, as nvdisasm: from a wheel or a toolkit; None if there is none."""
    for root in _roots():
        if (path := root / "bin" / name).is_file():
            return path
    return None
