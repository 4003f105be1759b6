"""The C functions of contractions that do not depend on the module that calls them."""

from __future__ import annotations

import re

from emit_c.contraction.tiles import tile_of, tile_text

_NAME = re.compile(r"\bhlo_tile_\w+")


def called(code: str) -> list[str]:
    """The names of those that some code calls, in the order in which it does first."""
    return [name for name in dict.fromkeys(_NAME.findall(code)) if tile_of(name)]


def definitions(code: str) -> str:
    """The text of those that some code calls."""
    tiles = (tile_of(name) for name in called(code))
    return "".join(f"{tile_text(tile)}\n" for tile in tiles if tile)
