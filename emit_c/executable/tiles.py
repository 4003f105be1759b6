"""The register tiles that modules share: compiled once on a machine, and kept in the cache.

Half of the time that a compiler takes for a dot product or a convolution goes into its tiles. They
are the same functions in all modules, so each is a library of its own in the cache. Tiles that are
missing are compiled together, while the module is; their library then gets a name for each of them.
Other long functions that do not depend on the module, as those that sort, are treated alike.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from emit_c.contraction.library import exported
from emit_c.executable.libraries import library, library_name
from emit_c.executable.runtime import slots
from hlo.support.libraries import find_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from emit_c.contraction.library import LibraryFunction
    from emit_c.executable.compilers import Compilers

# Fewer tiles than this are not worth a compiler of their own.
FEW = 4
# The libraries of tiles that this process has loaded: their contents do not change.
_LOADED: dict[LibraryFunction, ctypes.CDLL] = {}


class MissingTiles:
    """Those tiles of a module that are neither loaded nor in the cache, and their compilers.

    Parameters
    ----------
    start : gives compilers that may begin with some tiles while kernels are still being written;
        it is asked once, when enough tiles are missing.
    """

    def __init__(self, start: Callable[[], Compilers] | None = None) -> None:
        self._start = start
        self._running: Compilers | None = None
        self._seen: set[LibraryFunction] = set()
        self._missing: list[LibraryFunction] = []
        self._files: list[str] = []  # those that compilers have
        self._waiting: list[LibraryFunction] = []  # tiles that are in none of them

    def look(self, tiles: Iterable[LibraryFunction]) -> None:
        """Take up the tiles that some kernels call, and begin to compile them if they suffice."""
        new = [tile for tile in tiles if tile not in self._seen]
        self._seen.update(new)
        missing = [tile for tile in new if tile not in _LOADED and not _file(tile)]
        self._missing += missing
        self._waiting += missing
        if self._start and len(self._waiting) >= FEW:
            self._running = self._running or self._start()
            self._files.append(exported(self._waiting))
            self._running.take(self._files[-1])
            self._waiting = []

    def compile(self) -> None:
        """Compile them all, and keep them in the cache.

        Raises
        ------
        HloError
            HLO180 if there is no compiler, HLO182 if it refuses a file.
        """
        if not self._missing:
            return
        count = min(slots(), -(-len(self._waiting) // FEW))
        files = [*self._files, *(exported(self._waiting[k::count]) for k in range(count))]
        path = library(files, running=self._running)
        for tile in self._missing:
            try:
                path.with_name(_name(tile)).hardlink_to(path)
            except FileExistsError:
                pass  # there was one tile only, or another process was faster
            except OSError:
                library([exported([tile])])  # files have one name each here


def compile_tiles(tiles: Iterable[LibraryFunction]) -> None:
    """Compile those tiles that are neither loaded nor in the cache.

    Raises
    ------
    HloError
        HLO180 if there is no compiler, HLO182 if it refuses a file.
    """
    missing = MissingTiles()
    missing.look(tiles)
    missing.compile()


def _name(tile: LibraryFunction) -> str:
    return library_name([exported([tile])])


def _file(tile: LibraryFunction) -> Path | None:
    return find_library(_name(tile))


def load_tiles(tiles: Iterable[LibraryFunction]) -> None:
    """Load the libraries of tiles, for modules to find their functions.

    Raises
    ------
    HloError
        as `compile_tiles`.
    """
    new = [tile for tile in tiles if tile not in _LOADED]
    compile_tiles(new)
    for tile in new:
        path = _file(tile) or library([exported([tile])])
        _LOADED[tile] = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
