"""Libraries and other compiled files, kept in a folder of the user's cache.

A library is written under a name of its own and then renamed, so that processes that compile at the
same time never see half a file; and it is looked at before it is loaded, for half a file may be all
that a crash has left. When the cache grows beyond its bound, the libraries used longest ago are
removed, a little late: a folder of thousands of files is not read for each file that is written.
Where the cache can't be used, or is full, a folder of this process takes its place.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.support.cache import cache_folder, read_sealed, remove_remains, sealed, write_sealed

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE_BYTES = 1 << 30
# A folder is tidied once for so many parts of its bound that are written, on average. To read a
# folder of 6,000 files took 0.05 s, more than the linker takes.
_PARTS = 64


@cache
def _own() -> tempfile.TemporaryDirectory[str]:
    """The folder of this process, with the finalizer that removes it."""
    return tempfile.TemporaryDirectory(prefix="pyhlo-")


def own_folder() -> Path:
    """A folder of this process, which is gone when it ends."""
    return Path(_own().name)


def keep_library(name: str, data: bytes) -> Path:
    """Write a library that was compiled; gives its file."""
    path = libraries_folder() / name
    if not write_sealed(path, data):
        path = own_folder() / name
        path.write_bytes(sealed(data))
    if is_due(name, len(data)):
        tidy(path.parent, f"*{path.suffix}")
    return path


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


def libraries_folder() -> Path:
    """The folder of compiled libraries."""
    return cache_folder("libraries") or own_folder()


def _folders() -> Iterator[Path]:
    """The folders in which a library may be: in this process's own folder too, once it has one."""
    yield libraries_folder()
    if _own.cache_info().currsize:
        yield own_folder()


def is_due(name: str, size: int) -> bool:
    """Whether a file's folder is tidied after it is written.

    A hash of its name decides, as if at random, so that processes need not count together.

    Parameters
    ----------
    size : of the file, in bytes.
    """
    drawn = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) / 2**32
    return drawn < size * _PARTS / CACHE_BYTES


def tidy(folder: Path, pattern: str) -> None:
    """Remove the files from a cache that killed processes left or that were used longest ago.

    Parameters
    ----------
    pattern : of the names of its files.
    """
    remove_remains(folder)
    _trim(folder, pattern)


def _trim(folder: Path, pattern: str) -> None:
    """Keep a cache below its bound; files that vanish meanwhile are another process's work."""
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
