"""The cache on disk, for files that are slow to make and can be made again.

What others could write to is not used: a library in the cache is loaded, and so is run. Every file
ends with a digest of what is before it, which is looked at before anything else is done with
the file: a crash or a full disk may leave half of one. A file that does not fit is removed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The end of a file: this, and the SHA-256 of all before.
_SEAL = b"\npyhlo sha256 "
_SEAL_BYTES = len(_SEAL) + hashlib.sha256().digest_size
# A file being written has such a name; if it is as old as this, its writer was killed.
_UNFINISHED = ("build-*", "*.part")
_UNFINISHED_SECONDS = 3600
Data = bytes | memoryview
_told: set[str] = set()
_safe_above: set[Path] = set()  # folders that nobody can replace


@dataclass(frozen=True, slots=True)
class Cache:
    """The user's cache.

    Attributes
    ----------
    root : its folder, which need not exist yet.
    refused : why it is not used; empty if it is.
    """

    root: Path | None
    refused: str = ""


def cache() -> Cache:
    """The user's cache, by the XDG rules, and whether it may be used."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "pyhlo"
    except RuntimeError as error:  # nobody is at home
        return Cache(None, str(error))
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        refused = _danger(root)
    except OSError as error:
        return Cache(root, f"it cannot be made: {error.strerror}")
    if not refused and not os.access(root, os.W_OK):
        refused = "it cannot be written"
    return Cache(root, refused)


def _danger(root: Path) -> str:
    """The other users who could put files into a folder; empty if nobody could."""
    if not hasattr(os, "getuid"):
        return ""  # Windows has no such owners and modes
    me = os.getuid()
    status = root.stat()
    if status.st_uid != me:
        return f"it belongs to another user, {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write to it: chmod 700 {root}"
    return "" if root in _safe_above else _danger_above(root)


def _danger_above(root: Path) -> str:
    """The same of the folders above: whoever can rename one can put another in its place.

    Only we, or those who may do everything, could let others do so later, so it is asked once.
    """
    me = os.getuid()
    for folder in root.resolve().parents:
        status = folder.stat()
        if status.st_uid not in (me, 0):
            return f"{folder} above it belongs to another user, {status.st_uid}"
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            return f"everybody can write to {folder} above it"
    _safe_above.add(root)
    return ""


def cache_folder(name: str) -> Path | None:
    """A folder of the user's cache; None where none can be used, with a warning if it is unsafe."""
    own = cache()
    if own.root is None or own.refused:
        if own.root is not None and own.root.is_dir() and str(own.root) not in _told:
            _told.add(str(own.root))
            warnings.warn(
                f"the cache {own.root} is not used: {own.refused}", RuntimeWarning, stacklevel=3
            )
        return None
    folder = own.root / name
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
        return None if _danger(folder) or not os.access(folder, os.W_OK) else folder
    except OSError:
        return None


def sealed(data: Data) -> bytes:
    """Some bytes, followed by their digest."""
    return b"".join((data, _SEAL, hashlib.sha256(data).digest()))


def read_sealed(path: Path) -> bytes | None:
    """The content of a sealed file; None if there is none, or none that fits, which is removed."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    held = memoryview(data)[:-_SEAL_BYTES]
    if data[len(held) :] == _SEAL + hashlib.sha256(held).digest():
        return data[: len(held)]
    _remove(path)
    return None


def write_sealed(path: Path, data: Data) -> bool:
    """Write a sealed file, so that others never see half of it; False where that fails."""
    name = ""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            name = file.name
            file.write(sealed(data))
        Path(name).replace(path)
    except OSError:
        if name:
            _remove(Path(name))
        return False
    return True


def remains(folder: Path) -> Iterator[Path]:
    """The unfinished files of killed processes in a folder."""
    oldest = time.time() - _UNFINISHED_SECONDS
    for pattern in _UNFINISHED:
        for path in folder.glob(pattern):
            try:
                if path.stat().st_mtime < oldest:
                    yield path
            except OSError:
                continue  # it was finished just now


def remove_remains(folder: Path) -> int:
    """Remove files that killed processes left in a folder; gives how many files and folders."""
    paths = list(remains(folder))
    for path in paths:
        _remove(path)
    return len(paths)


def _remove(path: Path) -> None:
    """Remove a file, or a folder of files, that others may be removing as well."""
    try:
        if path.is_dir():
            for part in path.iterdir():
                part.unlink(missing_ok=True)
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
    except OSError:
        pass
