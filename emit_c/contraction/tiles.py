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
from functools import cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.elements.types import narrowed
from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Group,
    Literal,
    Name,
    Struct,
    binary,
    conjoined,
    item,
    negated,
)
from codegen.functions import Function, Parameter
from codegen.kinds import Pointer, wide
from codegen.opcodes.scalar import converted
from codegen.statements import Assign, Call, For, If, Let, LocalVariable, nested
from emit_c.code import processor
from emit_c.code.vectors import vector
from emit_c.contraction.edges import ADDS, COUNT, RowStore, at, moved
from emit_c.contraction.whole_tiles import are_whole, whole_tile_body
from hlo.support import machine
from hlo.types.element_type import ELEMENT_TYPES, S32

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from codegen.expressions import Expr
    from codegen.statements import Statement
    from hlo.types.element_type import ElementType

NARROWEST_VECTOR = 16
"""A fact: bytes of the narrowest vectors (SSE2, NEON)."""
READ_BEHIND = 2 * 8 * machine.LANES
"""Derived: numbers that register tiles may read after an array's last one. It must not be less than
the lanes of a tile's widest row, 8 vectors, for which there is room twice."""
FETCHED_AHEAD = 8
"""Measured: rows ahead of which a tile asks for the numbers of a matrix that lies in place.
Products of 8 to 64 rows take 0.5 to 0.98 of the time; with 4 or 16, 1.05 times as long as with 8.
"""
TILES_AHEAD = 2
"""Measured: tiles ahead of which a tile asks for the numbers beside its own, of a chunk of steps.
Products of 12 and 24 rows by 1024 x 4096 and 4096 x 1024 numbers take 1.2 times as long with 1, as
long with 3, 1.15 with 4."""

# By the number of registers: rows whose sums fit into them, by how many vectors a row has; best
# first.
MOST_ROWS = {32: {2: 14, 3: 9, 4: 6, 8: 3, 1: 28}, 16: {2: 6, 3: 4, 4: 3, 1: 12}}
# No name that comes from HLO begins so.
_PREFIX = "hlo_tile_"
# Exclusive or with it makes a signed byte larger by 128, and an unsigned one smaller.
FLIPPED = Literal(0x80808080, "u32", hexadecimal=True)
# The vectors that are fetched ahead: see `Tile.shared`.
FETCHED = ("p", "q")
# Stands for signs where numbers and vectors are pairs of bf16.
PAIRS = "bf"
# The kinds in names of tiles of bytes, for the signs of numbers and vectors; and of pairs.
_SIGNS = {
    **{f"{s}8": s for signs in ("us", "su", "ss", "uu") for s in (signs, signs.upper())},
    **{f"{s}16": s for s in (PAIRS, PAIRS.upper())},
}
_STEPS_ARE = """The numbers in `steps`: tiles; from tile to tile
// in `each`, `shared` and `output`; from row to row in `each` and in `output`; and of each loop its
// iterations, and what to add to `each` and to `shared` after one.
"""
_STEPS = Name("steps")
_W, _ROW, _ROW_3 = Name("w"), Name("row"), Name("row_3")
_EACH_STEP, _SHARED_STEP = Name("each_step"), Name("shared_step")
# Rows that are reached from one pointer, by the multiples of a step that addresses may hold.
_REACHED = (Literal(0), _ROW, _ROW * 2, _ROW_3)


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
        own = self.each if self.apart is None else f"{self.each}{self.apart}"
        kind = next((k for k, signs in _SIGNS.items() if signs == self.signs), self.kind)
        return f"{_PREFIX}{own}{self.shared}_{size}_{self.loops}_{kind}"

    @property
    def width(self) -> int:
        """Outputs of a row."""
        return self.vectors * self.lanes

    @property
    def lanes_kind(self) -> str:
        """The C type of a vector of sums."""
        return vector(self.kind, self.lanes)

    @property
    def factors_kind(self) -> str:
        """The C type of a vector of factors: of the bits of pairs, no number is made."""
        return vector(S32 if self.signs == PAIRS else self.kind, self.lanes)


def has_offset(signs: str) -> bool:
    """Whether numbers are offset, so that the excess must be summed up, too: as one row more."""
    return signs in ("ss", "uu")


def shapes_for(count: int, kind: ElementType) -> list[tuple[int, int]]:
    """Vectors of a row, and lanes of a vector, that tiles for `count` lanes may have."""
    full = processor.here().vector_bytes // kind.bytes
    if count >= full:
        return [(vectors, full) for vectors in MOST_ROWS[processor.here().registers]]
    lanes = NARROWEST_VECTOR // kind.bytes
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


def declared(tile: Tile, body: Iterable[Statement] = ()) -> Function:
    """A tile's function, of which a declaration is made without its body.

    It is given pointers to the factors that rows have each and share, and to the output; `steps`;
    how many lanes are outputs, if it is not all; and whether to add to what the output holds. Of
    loops, the outermost one comes first; those inside of it have moved both pointers already.
    """
    factor = Pointer(tile.kind.name, const=True, restrict=True)
    parameters = (
        Parameter(factor, "each"),
        Parameter(factor, "shared"),
        Parameter(Pointer(tile.kind.name, restrict=True), "output"),
        Parameter(Pointer("s64", const=True), "steps"),
        Parameter("s64", "count"),
        Parameter("int", "adds"),
    )
    where = "" if are_whole(tile.signs) else ", in registers"
    about = f"// {tile.rows} rows of {tile.width} outputs{where}. {_STEPS_ARE}"
    return Function(tile.name, parameters, tuple(body), about)


@cache
def tile_function(tile: Tile) -> Function:
    """The function that computes a tile."""
    store = RowStore(tile.vectors, tile.lanes, tile.kind)
    if are_whole(tile.signs):
        return declared(tile, whole_tile_body(tile.signs, tile.rows, store))
    places = {"each_tile": 1, "shared_tile": 2, "output_tile": 3, "output_row": 5}
    moves = {"each": "each_tile", "shared": "shared_tile", "output": "output_tile"}
    of_a_tile = (
        *_ahead(tile),
        *_sums(tile),
        *_contraction(tile),
        *_storing(tile, store),
        *(moved(Name(pointer), Name(step)) for pointer, step in moves.items()),
    )
    steps = (Let("s64", name, item(_STEPS, n)) for name, n in places.items())
    return declared(tile, (*steps, _counted("tiles", item(_STEPS, 0), of_a_tile)))


def _counted(name: str, count: Expr, body: Iterable[Statement]) -> For:
    """A loop that counts down to zero, so that no register holds its end."""
    return For(name, 0, tuple(body), start=count, step=-1)


def _ahead(tile: Tile) -> Iterator[Let]:
    """The distance to what is read some tiles later: after the last one, by the next chunk's first.

    Of a chunk of steps, all tiles beside each other are made before the next chunk.
    """
    if tile.shared != "q":
        return
    later, tiles, apart = TILES_AHEAD, item(_STEPS, 0), Name("shared_tile")
    first = Choose(binary(">", tiles, 1), Group(later - tiles) * apart, Literal(0))
    yield Let("s64", "first", first)
    yield Let("s64", "next_chunk", item(_STEPS, 6) * item(_STEPS, 8) + Name("first"))
    near = binary(">", Name("tiles"), later)
    yield Let("s64", "ahead", Choose(near, apart * later, Name("next_chunk")))


def _sums(tile: Tile) -> Iterator[LocalVariable]:
    """The registers, one for each row and vector."""
    zeros = Struct(None, (Literal(0),))
    for total in chain(*_totals(tile), _excesses(tile)):
        yield LocalVariable(tile.lanes_kind, total.name, zeros)


def _totals(tile: Tile) -> list[list[Name]]:
    """The sums of each row."""
    return [[Name(f"sum_{row}_{v}") for v in range(tile.vectors)] for row in range(tile.rows)]


def _excesses(tile: Tile) -> list[Name]:
    """What sums are too large by, where numbers are offset."""
    return [Name(f"too_much_{v}") for v in range(tile.vectors)] if has_offset(tile.signs) else []


def _contraction(tile: Tile) -> Iterator[Statement]:
    """The loops that sum up.

    Rows are reached from a pointer for every four of them, so that the innermost loop has to move
    few pointers, and needs no more than there are registers.
    """
    kind, pointers = Pointer(tile.kind.name, const=True), _pointers(tile)
    yield LocalVariable(kind, _W.name, Name("shared"))
    yield LocalVariable(kind, pointers[0].name, Name("each"))
    if tile.each != "r" and tile.apart is None:
        if tile.rows > 1:
            yield Let("s64", _ROW.name, item(_STEPS, 4))
        if tile.rows >= len(_REACHED):
            yield Let("s64", _ROW_3.name, _ROW * 3)
    for here, there in pairwise(pointers):
        yield LocalVariable(kind, there.name, here + _ROW * len(_REACHED))
    made: list[Statement] = [*_step(tile)]
    for k in reversed(range(tile.loops)):
        size, own, shared = (item(_STEPS, 6 + 3 * k + n) for n in range(3))
        is_innermost = k == tile.loops - 1
        moves = (_EACH_STEP, _SHARED_STEP) if is_innermost else (own, shared)
        made += (moved(pointer, moves[0]) for pointer in pointers)
        made.append(moved(_W, moves[1]))
        made = [_counted(f"k{k}", size, made)]
        if is_innermost:
            steps = ((_EACH_STEP, own), (_SHARED_STEP, shared))
            made[:0] = (Let("s64", step.name, value) for step, value in steps)
    yield from made


def _pointers(tile: Tile) -> list[Name]:
    """The pointers to rows."""
    one = tile.each == "r" or tile.apart is not None
    return [Name(f"x_{row}") for row in range(0, 1 if one else tile.rows, len(_REACHED))]


def _step(tile: Tile) -> Iterator[Statement]:
    """One step of the contraction: a product for each row and vector."""
    starts = [v * tile.lanes for v in range(tile.vectors)]
    if tile.shared in FETCHED:
        ahead, level = _W + _SHARED_STEP * FETCHED_AHEAD, ()
        if tile.shared == "q":
            # The second level holds a chunk, of which the first one has no room for two tiles.
            ahead, level = _W + Name("ahead"), (Literal(0), Literal(2))
        apart = machine.CACHE_LINE // tile.kind.bytes
        for n in range(0, tile.width, apart):
            yield Call(BUILTINS["prefetch"], (ahead + n, *level))
    if tile.shared in ("v", *FETCHED):
        for v, start in enumerate(starts):
            yield Let(tile.factors_kind, f"w_{v}", at(tile.factors_kind, _W, start))
    shared: Sequence[Expr] = [Name(f"w_{v}") for v in range(tile.vectors)]
    for row, totals in enumerate(_totals(tile)):
        if tile.shared in ("n", "r"):
            shared = [item(_W, row if tile.shared == "r" else 0)] * tile.vectors
        yield from _row(tile, row, totals, shared)
    if has_offset(tile.signs):
        offset = Cast("s32", FLIPPED) - _zeros(tile.lanes_kind)
        yield Let(tile.lanes_kind, "offset", offset)
        for total, w in zip(_excesses(tile), shared, strict=True):
            yield Assign(total, _sum(tile, total, Name("offset"), w))


def _row(
    tile: Tile, row: int, totals: Sequence[Name], shared: Sequence[Expr]
) -> Iterator[Statement]:
    """The products of a row."""
    known = 1 if tile.each == "r" else tile.apart
    base, offset = Name("x_0"), Literal(row * known) if known else _REACHED[0]
    if known is None:
        base = Name(f"x_{row // len(_REACHED) * len(_REACHED)}")
        offset = _REACHED[row % len(_REACHED)]
    here: Expr = base if offset == Literal(0) else base + offset
    x: Expr = item(base, offset)
    if tile.signs:
        word = at("s32", here) if tile.signs == PAIRS else x
        x = Name(f"n_{row}")
        yield Let(tile.factors_kind, x.name, word - _zeros(tile.factors_kind))
    for v, (total, w) in enumerate(zip(totals, shared, strict=True)):
        factor = at(tile.lanes_kind, here, v * tile.lanes) if tile.each == "v" else x
        yield Assign(total, _sum(tile, total, factor, w))


def _zeros(kind: str) -> Struct:
    return Struct(kind, (Literal(0),))


def _sum(tile: Tile, total: Name, x: Expr, w: Expr) -> Expr:
    """A sum, with a product added to it."""
    if not tile.signs:
        # C multiplies two narrow numbers as an int, which it adds to no vector of narrower ones.
        is_int = tile.kind.bits < S32.bits and not {"v", *FETCHED} & {tile.each, tile.shared}
        product = binary("*", x, w)
        return total + (Cast(tile.kind.name, product) if is_int else product)
    if tile.signs == PAIRS:
        return Apply(FUNCTIONS[f"add_pairs_{tile.lanes}"], (total, x, w))
    unsigned, signed = (x, w) if tile.signs in ("us", "ss") else (w, x)
    return Apply(FUNCTIONS[f"add_bytes_{tile.lanes}"], (total, unsigned, signed))


def _storing(tile: Tile, store: RowStore) -> Iterator[Statement]:
    """The statements that store the sums: registers directly where nothing else is to do."""
    totals, to, row = _totals(tile), Name("to"), Name("output_row")
    for sums in totals:
        for total, excess in zip(sums, _excesses(tile), strict=False):
            yield Assign(total, total - excess)
    yield LocalVariable(Pointer(tile.kind.name), to.name, Name("output"))

    starts = range(0, tile.width, tile.lanes)
    targets = [at(tile.lanes_kind, to, start, const=False) for start in starts]
    move = moved(to, row)

    def stores(*, adds: bool) -> Iterator[Assign]:
        for k, sums in enumerate(totals):
            if k:
                yield move
            for target, total in zip(targets, sums, strict=True):
                yield Assign(target, target + total if adds else total)

    sums, rows = Name("sums"), tile.rows * tile.vectors
    given = (Cast(Pointer(tile.kind.name, const=True), sums), Literal(tile.rows), to, row)
    at_edge = (
        LocalVariable(tile.lanes_kind, sums.name, Struct(None, tuple(chain(*totals))), rows),
        Call(store, (*given, COUNT, ADDS)),
    )
    is_whole = binary(">=", COUNT, tile.width)
    adding = If(is_whole, tuple(stores(adds=True)), at_edge)
    yield If(conjoined((is_whole, negated(ADDS))), tuple(stores(adds=False)), (adding,))


def tiles_in(statements: Iterable[Statement]) -> list[Tile]:
    """The tiles that statements call, each once."""
    called = (s.function for s in nested(statements) if isinstance(s, Call))
    return list(dict.fromkeys(f for f in called if isinstance(f, Tile)))


def result(value: Expr, kind: ElementType, target: ElementType) -> Expr:
    """A sum in the result's type."""
    if wide(target) == wide(kind):
        return narrowed(target, value)
    return converted(value, ELEMENT_TYPES[wide(kind)], target)
