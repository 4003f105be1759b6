"""Libraries of C: compiled once, and kept in a cache.

The cache is keyed by what goes in: sources, flags, the compiler's version and the processor. A
library is written under a name of its own and then renamed, so that processes that compile at the
same time never see half a file. When the cache grows beyond its bound, the libraries used longest
ago are removed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from emit_c.executable.compilers import Compilers
from emit_c.executable.toolchain import OPTIMIZED, toolchain
from hlo.support.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

CACHE_BYTES = 1 << 30


@cache
def _own_folder() -> Path:
    """A folder of this process, where the cache can't be written."""
    return Path(tempfile.mkdtemp(prefix="pyhlo-"))


def compilers(flags: Sequence[str] = OPTIMIZED) -> Compilers:
    """Compilers of the files of one library.

    Raises
    ------
    HloError
        HLO180 if there is no compiler.
    """
    return Compilers(toolchain(), flags, _folder())


def library(
    units: Sequence[str],
    flags: Sequence[str] = OPTIMIZED,
    linked: Sequence[str] | None = None,
    running: Compilers | None = None,
) -> Path:
    """Compile some C files to one shared library, or find it compiled.

    Parameters
    ----------
    units : the texts of the files; several are compiled at the same time.
    linked : flags for linking; those of modules are left out.
    running : compilers with these flags, which may be at work on some of the files already.

    Raises
    ------
    HloError
        HLO180 if there is no compiler, HLO182 if it refuses a file.
    """
    made = library_path(units, flags, linked)
    try:
        os.utime(made)  # it was used just now, so it is not the first to be removed
    except FileNotFoundError:
        with nullcontext(running) if running else compilers(flags) as at_work:
            at_work.link(units, linked).replace(made)
        trim(made.parent, "*.so")
    return made


def library_path(
    units: Sequence[str], flags: Sequence[str] = OPTIMIZED, linked: Sequence[str] | None = None
) -> Path:
    """Where the library of some C files is, or will be."""
    key = "\0".join((toolchain().key, *flags, *(linked or ()), *units))
    return _folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"


def _folder() -> Path:
    return cache_folder("c") or _own_folder()


def trim(folder: Path, pattern: str) -> None:
    """Keep a cache below its bound; files that vanish meanwhile are another process's work.

    Parameters
    ----------
    pattern : of the names of its files.
    """
    entries: list[tuple[float, int, Path]] = []
    for path in folder.glob(pattern):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        entries.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries)[:-1]:
        if total <= CACHE_BYTES:
            break
        path.unlink(missing_ok=True)
        total -= size
