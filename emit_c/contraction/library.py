"""The C functions of contractions that do not depend on the module that calls them.

The file that people read holds those that it calls. A compiler is given their declarations only,
where they are compiled apart, once for all modules: see `emit_c.executable.tiles`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from emit_c.code.prelude import prelude
from emit_c.contraction.tiles import head, tile_of, tile_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from emit_c.contraction.tiles import Tile

_NAME = re.compile(r"\bhlo_tile_\w+")


def called(code: str) -> tuple[str, ...]:
    """The names of those that some code calls, in the order in which it does first."""
    return tuple(name for name in dict.fromkeys(_NAME.findall(code)) if tile_of(name))


def definitions(code: str) -> str:
    """The text of those that some code calls."""
    return "".join(f"{tile_text(tile)}\n" for tile in _tiles(called(code)))


def declarations(code: str) -> str:
    """What code must know of those that it calls."""
    return "".join(f"{head(tile)};\n" for tile in _tiles(called(code)))


def exported(names: Iterable[str]) -> str:
    """A file of some of them, for others to call."""
    return prelude("") + "".join(f"\n{tile_text(tile, '')}" for tile in _tiles(names))


def _tiles(names: Iterable[str]) -> Iterator[Tile]:
    return (tile for tile in map(tile_of, names) if tile)
