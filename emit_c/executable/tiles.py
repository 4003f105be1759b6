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
    from collections.abc import Iterable
    from pathlib import Path

# Fewer tiles than this are not worth a compiler of their own.
FEW = 4
# The libraries of tiles that this process has loaded: their contents do not change.
_LOADED: dict[str, ctypes.CDLL] = {}


def compile_tiles(names: Iterable[str]) -> None:
    """Compile those tiles that are neither loaded nor in the cache.

    Raises
    ------
    HloError
        HLO180 if there is no compiler, HLO182 if it refuses a file.
    """
    missing = [n for n in names if n not in _LOADED and not _file(n)]
    if not missing:
        return
    count = min(slots(), -(-len(missing) // FEW))
    units = [exported(missing[k::count]) for k in range(count)]
    made = library(units)
    for name in missing:
        try:
            made.with_name(_name(name)).hardlink_to(made)
        except FileExistsError:
            pass  # there was one tile only, or another process was faster
        except OSError:
            library([exported([name])])  # files have one name each here


def _name(tile: str) -> str:
    return library_name([exported([tile])])


def _file(tile: str) -> Path | None:
    return find_library(_name(tile))


def load_tiles(names: Iterable[str]) -> None:
    """Load the libraries of tiles, for modules to find their functions.

    Raises
    ------
    HloError
        as `compile_tiles`.
    """
    names = [name for name in names if name not in _LOADED]
    compile_tiles(names)
    for name in names:
        made = _file(name) or library([exported([name])])
        _LOADED[name] = ctypes.CDLL(str(made), mode=ctypes.RTLD_GLOBAL)
