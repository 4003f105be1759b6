"""Register tiles of bytes, or bf16, on processors that have registers for them: Intel's AMX.

A register holds 16 rows of 16 numbers, each of them a sum of 32 bits, four bytes or two bf16. One
instruction multiplies the bytes of two registers, 16 rows by 64 steps by 16 columns, and adds to
the sums of a third, 16 times as much as one of vectors of bytes does. Two registers of numbers and
two of the kernel are multiplied into four of sums. The kernel is packed as for vectors; bytes may
have any signs. Of bf16, products of even steps and of odd ones are added up apart for 32 steps, and
subnormal numbers are zeros, as where pairs are multiplied in vectors.

Linux lets a process use these registers if it asks; where it may not, or where the compiler does
not know them, loops take the same numbers.

References
----------
Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: TDPBSSD, TDPBF16PS,
LDTILECFG.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Group,
    Literal,
    Name,
    apply,
    array_of,
    as_expr,
    binary,
    conjoined,
    item,
    negated,
)
from codegen.functions import Function, Parameter
from codegen.kinds import Pointer, Table
from codegen.statements import Assign, Call, For, If, Let, LocalVariable
from emit_c.contraction.edges import ADDS, COUNT, moved
from hlo.types.element_type import F32

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.expressions import Expr
    from codegen.statements import Statement
    from emit_c.contraction.edges import RowStore

# The signs of tiles of bf16.
PAIRS = "BF"
# Rows of a register, numbers in a row, and vectors that a tile may have: see above.
ROWS, NUMBERS, VECTORS = 16, 16, 2
_STEPS, _TO, _TO_ROW = Name("steps"), Name("to"), Name("to_row")
_X, _W, _ROW, _STEP = Name("x"), Name("w"), Name("row"), Name("shared_step")


def are_whole(signs: str) -> bool:
    """Whether the signs of a tile are those of one whose registers hold whole tiles."""
    return signs.isupper()


def kind_of_sums(signs: str) -> str:
    """The C type of sums, and of the numbers that hold elements."""
    return "f32" if signs == PAIRS else "s32"


def rows_of_whole(count: int) -> int:
    """Rows of a tile, so that `count` rows are cut into the fewest tiles of about equal sizes."""
    tiles = -(-count // (2 * ROWS))
    return -(-count // tiles)


@dataclass(frozen=True, slots=True)
class WholeTileLoops:
    """The C function that computes a tile without such registers.

    Attributes
    ----------
    signs : as of `emit_c.contraction.tiles.Tile`, in capitals.
    """

    signs: str

    @property
    def name(self) -> str:
        """The name in C."""
        return f"hlo_multiply_bytes_{self.signs.lower()}"

    @property
    def function(self) -> Function:
        """The function: rows of numbers times a packed kernel."""
        kind = kind_of_sums(self.signs)
        factor = Pointer(kind, const=True)
        numbers = [Parameter("s64", name) for name in ("to_row", "rows", "width")]
        parameters = (
            *(Parameter(factor, name) for name in ("each", "shared")),
            Parameter(Pointer(kind), "to"),
            Parameter(Pointer("s64", const=True), "steps"),
            *numbers,
        )
        pairs = self.signs == PAIRS
        kinds = ("u32", "u32") if pairs else tuple(f"{sign}8" for sign in self.signs.lower())
        elements = (
            LocalVariable(Pointer(of, const=True), name.name, Cast(Pointer(of, const=True), there))
            for of, name, there in zip(kinds, (_X, _W), map(Name, ("each", "shared")), strict=True)
        )
        i, j, total = Name("i"), Name("j"), Name("sum")
        products = self._pairs(i, j, total) if pairs else self._bytes(i, j, total)
        count = item(_STEPS, 6) if pairs else item(_STEPS, 6) * 4
        column = (
            LocalVariable(kind, total.name, Literal(0)),
            For("k", count, products),
            Assign(item(_TO, i * _TO_ROW + j), total),
        )
        rows = For(i.name, Name("rows"), (For(j.name, Name("width"), column),))
        about = "// A tile by loops: rows of numbers times a packed kernel.\n"
        return Function(self.name, parameters, (*elements, rows), about)

    def _bytes(self, i: Name, j: Name, total: Name) -> tuple[Statement, ...]:
        k, row, step = Name("k"), item(_STEPS, 4), item(_STEPS, 8)
        x = item(_X, i * row * 4 + k)
        w = item(_W, Group(k // 4 * step + j) * 4 + k % 4)
        return (Assign(total, total + x * w),)

    def _pairs(self, i: Name, j: Name, total: Name) -> tuple[Statement, ...]:
        """Two products of bf16, each of which is the upper half of an f32."""
        k, a, b = Name("k"), Name("a"), Name("b")
        upper = Literal(0xFFFF0000, "u32", hexadecimal=True)
        halves = ((a << 16, b << 16), (a & upper, b & upper))
        numbers = [[apply(FUNCTIONS["from_bits", F32], n) for n in half] for half in halves]
        return (
            Let("u32", a.name, item(_X, i * item(_STEPS, 4) + k)),
            Let("u32", b.name, item(_W, k * item(_STEPS, 8) + j)),
            *(Assign(total, total + x * w) for x, w in numbers),
        )


def whole_tile_body(signs: str, rows: int, store: RowStore) -> tuple[Statement, ...]:
    """The body of a C function that computes a tile, of at most 32 rows by 2 vectors.

    Parameters
    ----------
    signs : as of `emit_c.contraction.tiles.Tile`, in capitals.
    store : the function that stores what is no whole tile.
    """
    kind, width = kind_of_sums(signs), store.vectors * NUMBERS
    halves = [min(rows, ROWS), rows - ROWS][: 1 + (rows > ROWS)]
    sums, output, whole, may = Name("sums"), Name("output"), Name("whole"), Name("may")
    each, shared, row = Name("each"), Name("shared"), Name("output_row")
    is_whole = conjoined((binary(">=", COUNT, width), negated(ADDS)))
    loops = each, shared, _TO, _STEPS, _TO_ROW, Literal(rows), Literal(width)
    of_a_tile = (
        LocalVariable(Pointer(kind), _TO.name, Choose(whole, output, sums)),
        If(
            may,
            tuple(_by_registers(signs, len(halves), store.vectors)),
            (Call(WholeTileLoops(signs), loops),),
        ),
        If(negated(whole), (Call(store, (sums, Literal(rows), output, row, COUNT, ADDS)),)),
        *(moved(pointer, item(_STEPS, n)) for n, pointer in enumerate((each, shared, output), 1)),
    )
    return (
        LocalVariable(f"_Alignas(64) {kind}", sums.name, size=rows * width),
        *(Let("s64", n.name, item(_STEPS, k)) for n, k in ((_ROW, 4), (_STEP, 8), (row, 5))),
        Let("int", whole.name, is_whole),
        Let("int", may.name, Apply(FUNCTIONS["may_use_tiles"], ())),
        Let("s64", _TO_ROW.name, Choose(whole, row, Literal(width))),
        LocalVariable(Table("u8"), "shapes", array_of(_shapes(halves, store.vectors)), 64),
        If(may, (Call(FUNCTIONS["configure_tiles"], (Name("shapes"),)),)),
        For("tiles", 0, of_a_tile, start=item(_STEPS, 0), step=-1),
        If(may, (Call(FUNCTIONS["release_tiles"], ()),)),
    )


def _shapes(halves: Sequence[int], vectors: int) -> list[int]:
    """The bytes that say how many rows each register has: all those rows are of 64 bytes."""
    rows = {_sum(half, v): n for half, n in enumerate(halves) for v in range(vectors)}
    rows |= {_number(half): n for half, n in enumerate(halves)}
    rows |= {_shared(v): NUMBERS for v in range(vectors)}
    shapes = [1] + [0] * 63
    for register, n in rows.items():
        shapes[16 + 2 * register], shapes[48 + register] = 64, n
    return shapes


def _sum(half: int, vector: int) -> int:
    return 2 * half + vector


def _number(half: int) -> int:
    return 4 + half


def _shared(vector: int) -> int:
    return 6 + vector


def _by_registers(signs: str, halves: int, vectors: int) -> Iterator[Statement]:
    """The statements that multiply by registers of whole tiles, and store them."""

    def told(name: str, *arguments: Expr | int) -> Call:
        return Call(FUNCTIONS[name], tuple(map(as_expr, arguments)))

    tiles = [(half, v) for half in range(halves) for v in range(vectors)]
    for half, v in tiles:
        yield told("zero_tile", _sum(half, v))
    kind = Pointer(kind_of_sums(signs), const=True)
    yield LocalVariable(kind, _X.name, Name("each"))
    yield LocalVariable(kind, _W.name, Name("shared"))
    step: list[Statement] = []
    for half, v in tiles:
        if half == 0:
            step.append(told("load_tile", _shared(v), _W + v * NUMBERS if v else _W, _STEP))
        if v == 0:
            step.append(told("load_tile", _number(half), _X + _ROW * ROWS if half else _X, _ROW))
        factors = _number(half), _shared(v)
        step.append(told(f"multiply_tiles_{signs.lower()}", _sum(half, v), *factors))
    step += (moved(_X, NUMBERS), moved(_W, _STEP * NUMBERS))
    yield For("k", 0, tuple(step), start=item(_STEPS, 6) // NUMBERS, step=-1)
    for half, v in tiles:
        there = _TO + _TO_ROW * ROWS if half else _TO
        yield told("store_tile", _sum(half, v), there + v * NUMBERS if v else there, _TO_ROW)
