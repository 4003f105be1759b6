"""Libraries of C: compiled once, and kept in a cache.

The cache is keyed by what goes in: sources, flags, the compiler's version and the processor. A
library is written under a name of its own and then renamed, so that processes that compile at the
same time never see half a file; and it is looked at before it is loaded, for half a file may be all
that a crash has left. When the cache grows beyond its bound, the libraries used longest ago are
removed. Where the cache can't be used, or is full, a folder of this process takes its place.
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
from hlo.errors.error import HloError
from hlo.support.cache import cache_folder, read_sealed, remove_remains, sealed, write_sealed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CACHE_BYTES = 1 << 30


@cache
def _own() -> tempfile.TemporaryDirectory[str]:
    """A folder of this process, which is gone when it ends."""
    return tempfile.TemporaryDirectory(prefix="pyhlo-")


def _own_folder() -> Path:
    return Path(_own().name)


def compilers(flags: Sequence[str] = OPTIMIZED) -> Compilers:
    """Compilers of the files of one library.

    Raises
    ------
    HloError
        HLO180 if there is no compiler.
    """
    tools = toolchain()
    try:
        return Compilers(tools, flags, _folder())
    except OSError:  # the disk is full
        return Compilers(tools, flags, _own_folder())


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
    name = library_name(units, flags, linked)
    found = find_library(name)
    if found:
        return found
    try:
        with nullcontext(running) if running else compilers(flags) as at_work:
            made = at_work.link(units, linked).read_bytes()
    except (HloError, OSError):
        # Perhaps the disk of the cache is full; what the compiler really refuses is refused again.
        with Compilers(toolchain(), flags, _own_folder()) as at_work:
            made = at_work.link(units, linked).read_bytes()
    path = _folder() / name
    if not write_sealed(path, made):
        path = _own_folder() / name
        path.write_bytes(sealed(made))
    remove_remains(path.parent)
    trim(path.parent, "*.so")
    return path


def library_name(
    units: Sequence[str], flags: Sequence[str] = OPTIMIZED, linked: Sequence[str] | None = None
) -> str:
    """The name of the file of the library of some C files."""
    key = "\0".join((toolchain().key, *flags, *(linked or ()), *units))
    return f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"


def find_library(name: str) -> Path | None:
    """The file of a library that was compiled, is whole, and was used just now."""
    for folder in _folders():
        path = folder / name
        if read_sealed(path) is not None:
            try:
                os.utime(path)  # so it is not the first to be removed
            except OSError:
                continue  # it is gone
            return path
    return None


def _folder() -> Path:
    """Where libraries are kept."""
    return cache_folder("libraries") or _own_folder()


def _folders() -> Iterator[Path]:
    """Where they may be: in this process's own folder too, once it has one."""
    yield _folder()
    if _own.cache_info().currsize:
        yield _own_folder()


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
