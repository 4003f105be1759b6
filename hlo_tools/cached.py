"""The user's cache as `hlo doctor --cache` shows it: what it holds, and what is broken in it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from hlo.support.cache import cache, read_sealed, remove_remains

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Its folders, their contents, and the endings of file names; objects are of CUDA's kernels.
FOLDERS = {
    "libraries": ("compiled libraries", (".so", ".o")),
    "built": ("modules that were built", (".npz",)),
    "grammars": ("tables of the grammar", (".json",)),
}


def clean() -> Iterator[str]:
    """Remove broken and unfinished files from the cache; gives lines about all."""
    own_cache = cache()
    if own_cache.root is None or own_cache.refused:
        yield f"{own_cache.root or 'the cache'} is not used: {own_cache.refused}"
        return
    yield f"{own_cache.root}"
    for name, (holds, suffixes) in FOLDERS.items():
        folder = own_cache.root / name
        if folder.is_dir():
            yield _cleaned(folder, holds, suffixes)


def clear() -> None:
    """Remove all that the cache holds, also of older versions, where it may be used at all."""
    own_cache = cache()
    if own_cache.root is None or own_cache.refused:
        return
    for folder in own_cache.root.iterdir():
        shutil.rmtree(folder, ignore_errors=True)


def _cleaned(folder: Path, holds: str, suffixes: tuple[str, ...]) -> str:
    """Clean a folder; gives a line about its contents."""
    unfinished = remove_remains(folder)
    whole = size = broken = 0
    for path in sorted(folder.iterdir()):
        if path.suffix not in suffixes:
            continue  # it is being written
        if read_sealed(path) is None:  # which removes it
            broken += 1
        else:
            whole += 1
            size += path.stat().st_size
    removed = {"broken": broken, "unfinished": unfinished}
    gone = ", ".join(f"{count} {name}" for name, count in removed.items() if count)
    return f"  {holds}: {whole}, {size / 1e6:.1f} MB" + (f"; removed: {gone}" if gone else "")
