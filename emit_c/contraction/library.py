"""The long C functions that do not depend on the module that calls them.

The file that people read holds those that it calls. A compiler is given their declarations only,
where they are compiled apart, once for all modules: see `emit_c.executable.tiles`.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from codegen.file_text import Section
from codegen.functions import mentions
from codegen.prelude.paragraph import words
from codegen.printer import code, head, text
from codegen.statements import Call, nested
from emit_c.code.prelude import apart, apart_as, declaration, prelude, with_called
from emit_c.contraction.edges import RowStore
from emit_c.contraction.tiles import Tile, declared, tile_function
from emit_c.contraction.transposing import is_transpose, transpose_head, transpose_text
from emit_c.contraction.whole_tiles import WholeTileLoops
from hlo.support.compiler import calls_with_vectors
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from codegen.callees import Named

# A function that is compiled apart: a tile, or the name of a transpose or of one in the prelude.
LibraryFunction = Tile | str


def called(mentions: Mapping[str, Named | None]) -> tuple[LibraryFunction, ...]:
    """Those of these functions that are among what code mentions, or that these call.

    Parameters
    ----------
    mentions : as of `codegen.functions`.
    """
    return _chosen(mentions, with_called(mentions))


def _chosen(
    mentions: Mapping[str, Named | None], names: Iterable[str]
) -> tuple[LibraryFunction, ...]:
    functions: list[LibraryFunction] = []
    for name in names:
        known = mentions.get(name)
        if isinstance(known, Tile):
            functions.append(known)
        elif is_transpose(name) or apart(name):
            functions.append(name)
    return tuple(functions)


def definitions(mentions: Mapping[str, Named | None]) -> list[Section]:
    """Those that code calls, but for those of the prelude."""
    chosen = [f for f in called(mentions) if isinstance(f, Tile) or is_transpose(f)]
    own = [Section(f"{_text(f, 'static ')}\n", f if isinstance(f, str) else f.name) for f in chosen]
    return [*_needed(chosen), *own]


def declarations(mentions: Mapping[str, Named | None]) -> str:
    """The declarations of those that code calls."""
    return "".join(f"{_head(function)};\n" for function in _chosen(mentions, mentions))


def exported(functions: Iterable[LibraryFunction]) -> str:
    """A file of some of them, for others to call."""
    # Another compiler may be chosen in between.
    return _exported(tuple(functions), calls_with_vectors())


# A process asks for the file of a tile again and again: its name in the cache is the text's hash.
@lru_cache(maxsize=512)
def _exported(functions: Sequence[LibraryFunction], _: bool) -> str:
    texts = "".join(f"\n{_text(each, '')}" for each in functions)
    made = "".join(section.text for section in _needed(functions)) + texts
    return prelude(words(made), whole=False) + made


def as_json(function: LibraryFunction) -> Any:
    """A function as `of_json` reads it."""
    if isinstance(function, str):
        return function
    known = {field.name: getattr(function, field.name) for field in fields(function)}
    return {**known, "kind": function.kind.name}


def of_json(known: Any) -> LibraryFunction:
    """A function from what `as_json` has made of it."""
    if isinstance(known, str):
        return known
    values: dict[str, Any] = {**known, "kind": ELEMENT_TYPES[known["kind"]]}
    return Tile(**values)


def _needed(functions: Iterable[LibraryFunction]) -> list[Section]:
    """The functions that tiles share."""
    tiles = (function for function in functions if isinstance(function, Tile))
    shared = dict.fromkeys(chain.from_iterable(map(_shared_by, tiles)))
    return [Section(_shared_text(callee), callee.function.name) for callee in shared]


@cache
def _shared_by(tile: Tile) -> tuple[RowStore | WholeTileLoops, ...]:
    """The functions that a tile calls."""
    calls = (s.function for s in nested(tile_function(tile).body) if isinstance(s, Call))
    return tuple(f for f in calls if isinstance(f, RowStore | WholeTileLoops))


@cache
def _shared_text(callee: RowStore | WholeTileLoops) -> str:
    """The C of a function that no compiler is to copy into each tile."""
    function = callee.function
    made = code(function, mentions(function))
    return f"\n{function.about}__attribute__((noinline)) static {made}"


def _text(function: LibraryFunction, storage: str) -> str:
    if isinstance(function, Tile):
        return _tile_text(function, storage)
    if is_transpose(function):
        return transpose_text(function, storage)
    return apart_as(function, storage)


def _tile_text(tile: Tile, storage: str) -> str:
    """The C of a tile, whose products and sums may be fused: their order is open anyway.

    Where an innermost loop is short, its place among cache lines and the registers of the loops
    around it decide, and it takes some more effort of a compiler to get these right.
    """
    function = tile_function(tile)
    flags = '"O2", "fp-contract=fast"' if tile.loops > 1 else '"fp-contract=fast"'
    return (
        f"{function.about}#ifndef __clang__\n__attribute__((optimize({flags})))\n#endif\n"
        f"{storage}{head(function)} {{\n"
        f"#ifdef __clang__\n  #pragma clang fp contract(fast)\n#endif\n{_body_text(tile)}}}\n"
    )


@cache
def _body_text(tile: Tile) -> str:
    return text(tile_function(tile).body)


def _head(function: LibraryFunction) -> str:
    if isinstance(function, Tile):
        return head(declared(function))
    if is_transpose(function):
        return transpose_head(function)
    return declaration(function)
