"""Register tiles: the innermost work of a contraction, as C functions that all modules share.

A tile is a block of outputs, so many rows of so many vector lanes, that is summed up in registers.
For each step of the contraction, every row adds a product of two factors: a number or a vector that
each row has for itself, and one that all rows share. All rows are written out: a compiler takes
twice as long for loops that it has to unroll first.

Sizes of loops and steps through memory are arguments. So few tiles serve many modules, and what one
module has compiled, no other one has to: see `emit_c.contraction.library`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from textwrap import indent
from typing import TYPE_CHECKING

from codegen.elements.types import narrowed, wide
from codegen.opcodes.scalar import converted
from emit_c.code import processor
from emit_c.contraction.bytes import add_bytes_name, add_pairs_name
from emit_c.contraction.edges import lanes_type, storing_name
from emit_c.contraction.whole_tiles import are_whole, whole_tile_body
from hlo.types.element_type import ELEMENT_TYPES, S32
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.expressions import Expr
    from hlo.types.element_type import ElementType

# By the number of registers: rows whose sums fit into them, by how many vectors a row has; best
# first.
MOST_ROWS = {32: {2: 14, 3: 9, 4: 6, 8: 3, 1: 28}, 16: {2: 6, 3: 4, 4: 3, 1: 12}}
# Rows that are reached from one pointer, by the multiples of a step that addresses may hold.
REACHED = ("", " + row", " + row * 2", " + row_3")
# No name that comes from HLO begins so.
_PREFIX = "hlo_tile_"
# The vectors that are fetched ahead: see `Tile.shared`.
FETCHED = ("p", "q")
# Stands for signs where numbers and vectors are pairs of bf16.
PAIRS = "bf"
# The kinds in names of tiles of bytes, for the signs of numbers and vectors; and of pairs.
_SIGNS = {
    **{f"{s}8": s for signs in ("us", "su", "ss", "uu") for s in (signs, signs.upper())},
    **{f"{s}16": s for s in (PAIRS, PAIRS.upper())},
}


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile; its name says all about it.

    Attributes
    ----------
    each : what a row has for itself at a step: a number "n" or a vector "v", that lie so far apart
        as the caller says; or "r", a number that is the neighbour of the last row's.
    shared : what all rows have: a number "n", a vector "v"; a vector "p" whose successors are
        fetched ahead, or "q" whose neighbours in the tile after the next one are; or again "r".
    rows, vectors, lanes : outputs of a tile: rows * (vectors * lanes).
    loops : of the contraction.
    kind : the type in which products are summed up, and of everything in memory.
    apart : from row to row of what rows have each, if the tile is made for that only.
    signs : if given, numbers and vectors are four bytes in each s32, which are multiplied and
        summed up: unsigned "u" or signed "s" ones. If both are the same, numbers have the highest
        bit of each byte inverted: then they are of the other kind, and 128 too large or too small.
        If `PAIRS`, they are two bf16 in the bits of each f32. In capitals if registers hold whole
        tiles, of bytes as they are: see `emit_c.contraction.whole_tiles`.
    """

    each: str
    shared: str
    rows: int
    vectors: int
    lanes: int
    loops: int
    kind: ElementType
    apart: int | None = None
    signs: str = ""

    @property
    def name(self) -> str:
        """The name of the C function, by which another process finds it compiled."""
        size = f"{self.rows}x{self.vectors}x{self.lanes}"
        each = self.each if self.apart is None else f"{self.each}{self.apart}"
        kind = next((k for k, signs in _SIGNS.items() if signs == self.signs), self.kind)
        return f"{_PREFIX}{each}{self.shared}_{size}_{self.loops}_{kind}"

    @property
    def width(self) -> int:
        """Outputs of a row."""
        return self.vectors * self.lanes


def has_offset(signs: str) -> bool:
    """Whether numbers are offset, so that the excess must be summed up, too: as one row more."""
    return signs in ("ss", "uu")


def shapes_for(count: int, kind: ElementType) -> list[tuple[int, int]]:
    """Vectors of a row, and lanes of a vector, that tiles for `count` lanes may have."""
    full = processor.here().vector_bytes // kind.bytes
    if count >= full:
        return [(vectors, full) for vectors in MOST_ROWS[processor.here().registers]]
    lanes = machine.NARROWEST_VECTOR // kind.bytes
    while lanes < count:
        lanes *= 2
    return [(1, lanes)]


def rows_for(count: int, vectors: int, together: int = 1024, *, spared: bool = False) -> int:
    """Rows of a tile, so that `count` rows are cut into the fewest tiles of about equal sizes.

    Parameters
    ----------
    together : rows that the first-level cache holds at a time.
    spared : whether the registers of one row are needed for something else.
    """
    most = MOST_ROWS[processor.here().registers][vectors] - spared
    tiles = -(-count // min(most, together))
    return -(-count // tiles)


def head(tile: Tile) -> str:
    """The declaration of a tile's function, without the semicolon or body after it.

    It is given pointers to the factors that rows have each and share, and to the output; `steps`;
    how many lanes are outputs, if it is not all; and whether to add to what the output holds. The
    steps are how many tiles there are; from tile to tile in all three; from row to row in the first
    one and in the output; and for every loop, outermost first, its size and what to add to both
    pointers after an iteration, when loops inside of it have moved them already.
    """
    kind = tile.kind
    return (
        f"void {tile.name}(const {kind} *restrict each, const {kind} *restrict shared,\n"
        f"    {kind} *restrict output, const s64 *steps, s64 count, int adds)"
    )


def tile_text(tile: Tile, storage: str = "static ") -> str:
    """A C function that computes a tile.

    Multiplications and additions may be fused: the order in which a contraction is summed up is
    open anyway. Where an innermost loop is short, its place among cache lines and the registers of
    the loops around it decide, and it takes some more effort of a compiler to get these right.
    """
    if are_whole(tile.signs):
        storing = storing_name(tile.vectors, tile.lanes, tile.kind)
        text = whole_tile_body(tile.signs, tile.rows, tile.vectors, storing)
        return f"// {tile.rows} rows of {tile.width} outputs.\n{storage}{head(tile)} {{\n{text}}}\n"
    flags = '"O2", "fp-contract=fast"' if tile.loops > 1 else '"fp-contract=fast"'
    return (
        f"// {tile.rows} rows of {tile.width} outputs, in registers.\n"
        f"#ifndef __clang__\n__attribute__((optimize({flags})))\n#endif\n"
        f"{storage}{head(tile)} {{\n"
        "#ifdef __clang__\n  #pragma clang fp contract(fast)\n#endif\n"
        f"  {lanes_type(tile.kind, tile.lanes)}\n"
        f"{_words_type(tile)}"
        "  const s64 each_tile = steps[1], shared_tile = steps[2], output_tile = steps[3];\n"
        "  const s64 output_row = steps[5];\n"
        "  for (s64 tiles = steps[0]; tiles > 0; tiles--) {\n"
        f"{_ahead(tile)}"
        f"{indent(_sums(tile) + _contraction(tile) + _storing(tile), '  ')}"
        "    each += each_tile, shared += shared_tile, output += output_tile;\n"
        "  }\n}\n"
    )


def _ahead(tile: Tile) -> str:
    """The distance to what is read some tiles later: after the last one, by the next chunk's first.

    Of a chunk of steps, all tiles beside each other are made before the next chunk.
    """
    if tile.shared != "q":
        return ""
    later = machine.TILES_AHEAD
    return (
        f"    const s64 first = steps[0] > 1 ? ({later} - steps[0]) * shared_tile : 0;\n"
        f"    const s64 next_chunk = steps[6] * steps[8] + first;\n"
        f"    const s64 ahead = tiles > {later} ? {later} * shared_tile : next_chunk;\n"
    )


def _sums(tile: Tile) -> str:
    """The registers, one for each row and vector."""
    rows = (
        ", ".join(f"sum_{row}_{v} = {{0}}" for v in range(tile.vectors)) for row in range(tile.rows)
    )
    offset = ", ".join(f"too_much_{v} = {{0}}" for v in range(tile.vectors))
    offsets = [offset] if has_offset(tile.signs) else []
    return "".join(f"  lanes {row};\n" for row in (*rows, *offsets))


def _contraction(tile: Tile) -> str:
    """The loops that sum up.

    Rows are reached from a pointer for every four of them, so that the innermost loop has to move
    few pointers, and needs no more than there are registers.
    """
    pointers = _pointers(tile)
    lines = [f"const {tile.kind} *w = shared, *x_0 = each;"]
    if tile.each != "r" and tile.apart is None:
        lines.append("const s64 row = steps[4], row_3 = row * 3;")
    lines += [
        f"const {tile.kind} *{there} = {here} + row * {len(REACHED)};"
        for here, there in pairwise(pointers)
    ]
    for k in range(tile.loops):
        size, each, shared = (f"steps[{6 + 3 * k + n}]" for n in range(3))
        if k == tile.loops - 1:
            lines.append(f"const s64 each_step = {each}, shared_step = {shared};")
        lines.append(f"for (s64 k{k} = {size}; k{k} > 0; k{k}--) {{")
    lines += [f"  {line}" for line in _step(tile)]
    each, shared = "each_step", "shared_step"
    for k in reversed(range(tile.loops)):
        lines.append("  " + " ".join(f"{x} += {each};" for x in pointers) + f" w += {shared};")
        lines.append("}")
        each, shared = (f"steps[{6 + 3 * (k - 1) + n}]" for n in (1, 2))
    return "".join(f"  {line}\n" for line in lines)


def _pointers(tile: Tile) -> list[str]:
    """The names of pointers to rows."""
    one = tile.each == "r" or tile.apart is not None
    return [f"x_{row}" for row in range(0, 1 if one else tile.rows, len(REACHED))]


def _step(tile: Tile) -> list[str]:
    """One step of the contraction: a product for each row and vector."""
    lines: list[str] = []
    starts = [v * tile.lanes for v in range(tile.vectors)]
    if tile.shared in FETCHED:
        ahead, level = f"w + {machine.FETCHED_AHEAD} * shared_step", ""
        if tile.shared == "q":
            # The second level holds a chunk, of which the first one has no room for two tiles.
            ahead, level = "w + ahead", ", 0, 2"
        apart = machine.CACHE_LINE // tile.kind.bytes
        lines += [f"__builtin_prefetch({ahead} + {n}{level});" for n in range(0, tile.width, apart)]
    if tile.shared in ("v", *FETCHED):
        vector = _vector(tile)
        loaded = [f"w_{v} = *(const {vector} *)(w + {start})" for v, start in enumerate(starts)]
        lines.append(f"const {vector} {', '.join(loaded)};")
    lines += [_row(tile, row, starts) for row in range(tile.rows)]
    if has_offset(tile.signs):
        lines.append("const lanes offset = (s32)0x80808080 - (lanes){0};")
        added = (_added(tile, f"too_much_{v}", "offset", f"w_{v}") for v in range(tile.vectors))
        lines.append(" ".join(added))
    return lines


def _row(tile: Tile, row: int, starts: Sequence[int]) -> str:
    """The products of a row."""
    at = f"x_{row // len(REACHED) * len(REACHED)}{REACHED[row % len(REACHED)]}"
    known = 1 if tile.each == "r" else tile.apart
    at = at if known is None else f"x_0 + {row * known}"
    vector = _vector(tile)
    number = f"(const s32 *)({at})" if tile.signs == PAIRS else f"({at})"
    products = [f"const {vector} n_{row} = *{number} - ({vector}){{0}};"] if tile.signs else []
    for v, start in enumerate(starts):
        x = f"*(const lanes *)({at} + {start})" if tile.each == "v" else f"*({at})"
        x = f"n_{row}" if tile.signs else x
        w = {"n": "w[0]", "r": f"w[{row}]"}.get(tile.shared, f"w_{v}")
        products.append(_added(tile, f"sum_{row}_{v}", x, w))
    return " ".join(products)


def _added(tile: Tile, total: str, x: str, w: str) -> str:
    """Add a product to a sum."""
    if not tile.signs:
        # C multiplies two narrow numbers as an int, which it adds to no vector of narrower ones.
        is_int = tile.kind.bits < S32.bits and not {"v", *FETCHED} & {tile.each, tile.shared}
        return f"{total} += ({tile.kind})({x} * {w});" if is_int else f"{total} += {x} * {w};"
    if tile.signs == PAIRS:
        return f"{total} = {add_pairs_name(tile.lanes)}({total}, {x}, {w});"
    unsigned, signed = (x, w) if tile.signs in ("us", "ss") else (w, x)
    return f"{total} = {add_bytes_name(tile.lanes)}({total}, {unsigned}, {signed});"


def _words_type(tile: Tile) -> str:
    """The declaration of vectors of words that hold pairs, where there are such."""
    if tile.signs != PAIRS:
        return ""
    return f"  {lanes_type(S32, tile.lanes, 'words')}\n"


def _vector(tile: Tile) -> str:
    """The C type of what is multiplied: of the bits of pairs, no number is made."""
    return "words" if tile.signs == PAIRS else "lanes"


def _storing(tile: Tile) -> str:
    """The statements that store the sums: registers directly where nothing else is to do."""
    each = [[f"sum_{row}_{v}" for v in range(tile.vectors)] for row in range(tile.rows)]
    registers = ", ".join(f"{{{', '.join(sums)}}}" for sums in each)
    at_edge = storing_name(tile.vectors, tile.lanes, tile.kind)
    lines = [f"{tile.kind} *to = output;"]
    if has_offset(tile.signs):
        less = (" ".join(f"{s} -= too_much_{v};" for v, s in enumerate(sums)) for sums in each)
        lines = [*less, *lines]
    for test, sign in (
        (f"if (count >= {tile.width} && !adds)", "="),
        (f"}} else if (count >= {tile.width})", "+="),
    ):
        lines.append(f"{test} {{")
        for row, sums in enumerate(each):
            stores = (f"*(lanes *)(to + {v * tile.lanes}) {sign} {s};" for v, s in enumerate(sums))
            lines.append(f"  {' '.join(stores)}{' to += output_row;' * (row < tile.rows - 1)}")
    lines += [
        "} else {",
        f"  const lanes rows[{tile.rows}][{tile.vectors}] = {{{registers}}};",
        f"  {at_edge}((const {tile.kind} *)rows, {tile.rows}, to, output_row, count, adds);",
        "}",
    ]
    return "".join(f"  {line}\n" for line in lines)


def result(value: Expr, kind: ElementType, target: ElementType) -> Expr:
    """A sum in the result's type."""
    if wide(target) == wide(kind):
        return narrowed(target, value)
    return converted(value, ELEMENT_TYPES[wide(kind)], target)
