"""The long C functions that do not depend on the module that calls them.

The file that people read holds those that it calls. A compiler is given their declarations only,
where they are compiled apart, once for all modules: see `emit_c.executable.tiles`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.prelude.paragraph import words
from emit_c.code.prelude import apart, apart_as, declaration, prelude, with_called
from emit_c.contraction.bytes import add_bytes, add_pairs
from emit_c.contraction.edges import storing
from emit_c.contraction.tiles import PAIRS, head, tile_of, tile_text
from emit_c.contraction.transposing import is_transpose, transpose_head, transpose_text
from emit_c.contraction.whole_tiles import are_whole, needed_by_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

# So begin their names.
PREFIX = "hlo_"


def called(names: Iterable[str]) -> tuple[str, ...]:
    """The names of those of these functions that are among some names, or that these call."""
    return _chosen(with_called(names))


def _chosen(names: Iterable[str]) -> tuple[str, ...]:
    found = (name for name in names if name.startswith(PREFIX))
    return tuple(n for n in found if tile_of(n) or is_transpose(n) or apart(n))


def definitions(names: Iterable[str]) -> str:
    """The text of those among some names, but for those of the prelude."""
    chosen = [name for name in called(names) if not apart(name)]
    return _needed(chosen) + "".join(f"{_text(name, 'static ')}\n" for name in chosen)


def declarations(names: Iterable[str]) -> str:
    """The declarations of those among some names."""
    return "".join(f"{_head(name)};\n" for name in _chosen(names))


def exported(names: Iterable[str]) -> str:
    """A file of some of them, for others to call."""
    names = list(names)
    texts = "".join(f"\n{_text(name, '')}" for name in names)
    return prelude(words(texts), whole=False) + _needed(names) + texts


def _needed(names: Iterable[str]) -> str:
    """The functions that some of them call."""
    tiles = [tile for tile in map(tile_of, names) if tile]
    signs = dict.fromkeys(tile.signs for tile in tiles if are_whole(tile.signs))
    quads = (tile for tile in tiles if tile.signs and tile.signs not in signs)
    macros = dict.fromkeys(
        (add_pairs if tile.signs == PAIRS else add_bytes)(tile.lanes) for tile in quads
    )
    whole = [needed_by_whole(signs)] if signs else []
    stores = dict.fromkeys(storing(tile.vectors, tile.lanes, tile.kind) for tile in tiles)
    return "".join(f"\n{text}\n" for text in (*macros, *stores, *whole))


def _text(name: str, storage: str) -> str:
    if (tile := tile_of(name)) is not None:
        return tile_text(tile, storage)
    if is_transpose(name):
        return transpose_text(name, storage)
    return apart_as(name, storage)


def _head(name: str) -> str:
    if (tile := tile_of(name)) is not None:
        return head(tile)
    if is_transpose(name):
        return transpose_head(name)
    return declaration(name)
