"""Libraries of C: compiled once, and kept in a cache.

The cache is keyed by what goes in: sources, flags, the compiler's version and the processor.
"""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from typing import TYPE_CHECKING

from emit_c.executable.compilers import Compilers
from emit_c.executable.toolchain import OPTIMIZED, toolchain
from hlo.errors.error import HloError
from hlo.support.libraries import find_library, keep_library, libraries_folder, own_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


def compilers(flags: Sequence[str] = OPTIMIZED) -> Compilers:
    """Compilers of the files of one library.

    Raises
    ------
    HloError
        HLO180 if there is no compiler.
    """
    tools = toolchain()
    try:
        return Compilers(tools, flags, libraries_folder())
    except OSError:  # the disk is full
        return Compilers(tools, flags, own_folder())


def library(
    units: Sequence[str],
    flags: Sequence[str] = OPTIMIZED,
    linked: Sequence[str] | None = None,
    running: Compilers | None = None,
    begun: Callable[[], object] = lambda: None,
) -> Path:
    """Compile some C files to one shared library, or find it compiled.

    Parameters
    ----------
    units : the texts of the files; several are compiled at the same time.
    linked : flags for linking; those of modules are left out.
    running : compilers with these flags, which may be at work on some of the files already.
    begun : is called when all compilers are at work; not if the library is found.

    Raises
    ------
    HloError
        HLO180 if there is no compiler, HLO182 if it refuses a file.
    """
    name = library_name(units, flags, linked)
    path = find_library(name)
    if path:
        return path
    try:
        with nullcontext(running) if running else compilers(flags) as at_work:
            linked_library = at_work.link(units, linked, begun).read_bytes()
    except (HloError, OSError):
        # Perhaps the disk of the cache is full; a source with errors is refused again.
        with Compilers(toolchain(), flags, own_folder()) as at_work:
            linked_library = at_work.link(units, linked).read_bytes()
    return keep_library(name, linked_library)


def library_name(
    units: Sequence[str], flags: Sequence[str] = OPTIMIZED, linked: Sequence[str] | None = None
) -> str:
    """The name of the file of the library of some C files."""
    key = "\0".join((toolchain().key, *flags, *(linked or ()), *units))
    return f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"
