"""The C functions of contractions that do not depend on the module that calls them.

The file that people read holds those that it calls. A compiler is given their declarations only,
where they are compiled apart, once for all modules: see `emit_c.executable.tiles`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from emit_c.code.prelude import prelude
from emit_c.contraction.bytes import add_bytes
from emit_c.contraction.tiles import head, tile_of, tile_text
from emit_c.contraction.transposing import is_transpose, transpose_head, transpose_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAME = re.compile(r"\bhlo_(?:tile|transpose)_\w+")


def called(code: str) -> tuple[str, ...]:
    """The names of those that some code calls, in the order in which it does first."""
    found = dict.fromkeys(_NAME.findall(code))
    return tuple(name for name in found if tile_of(name) or is_transpose(name))


def definitions(code: str) -> str:
    """The text of those that some code calls."""
    names = called(code)
    return _needed(names) + "".join(f"{_text(name, 'static ')}\n" for name in names)


def declarations(code: str) -> str:
    """What code must know of those that it calls."""
    tiles = ((name, tile_of(name)) for name in called(code))
    return "".join(f"{head(tile) if tile else transpose_head(name)};\n" for name, tile in tiles)


def exported(names: Iterable[str]) -> str:
    """A file of some of them, for others to call."""
    names = list(names)
    return prelude("") + _needed(names) + "".join(f"\n{_text(name, '')}" for name in names)


def _needed(names: Iterable[str]) -> str:
    """What some of them call themselves."""
    tiles = [tile for tile in map(tile_of, names) if tile and tile.signs]
    return "".join(f"\n{add_bytes(lanes)}\n" for lanes in dict.fromkeys(t.lanes for t in tiles))


def _text(name: str, storage: str) -> str:
    tile = tile_of(name)
    return tile_text(tile, storage) if tile else transpose_text(name, storage)
