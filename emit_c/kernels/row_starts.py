"""Rows side by side in lanes: where each begins, in arrays of which elements are gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Cast, Expr, Group, Index, Literal, Load, Name, Op
from codegen.statements import Assign, For, Let, LocalVariable, Statement
from codegen.walk import rebuilt, spelled_out, walk
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from emit_c.kernels.transposed_rows import TransposedRows


def distances(row: str, expr: Expr) -> Iterator[int]:
    """By how much the number of a row is multiplied, wherever it is in a tree."""
    for tree in walk(expr):
        if isinstance(tree, Index):
            yield from (abs(n) for name, n in tree.sum.factors if name == row)
        elif (distance := _distance(row, tree)) is not None:
            yield distance


def _distance(row: str, product: Expr) -> int | None:
    """By how much an operation multiplies the number of the row, or its negative."""
    match product:
        case Op("*", (Name(name) | Op("-", (Name(name),)), Literal(int(factor)))):
            return factor if name == row else None
        case _:
            return None


class RowStarts:
    """A block of rows, a lane each.

    Parameters
    ----------
    row : the name of the counter of rows, which is that of the row in each lane.
    transposed : the rows that are read and written by columns.
    apart : the distances between rows whose elements are to be gathered.

    Attributes
    ----------
    block, lane : the number of the block's first row, and the counter of lanes.
    """

    def __init__(
        self, body: Body, row: str, transposed: TransposedRows, apart: Sequence[int]
    ) -> None:
        self._row, self._transposed = row, transposed
        self.block, self.lane = transposed.block, transposed.lane
        self._names = {n: (body.name("rows"), body.name("row")) for n in apart}

    def of_block(self, iteration: Sequence[Statement]) -> tuple[Statement, ...]:
        """The statements for a block of rows, with those that load and store its columns."""
        before = (*self._transposed.loads(), *self._arrays())
        return (*before, *iteration, *self._transposed.stores())

    def _arrays(self) -> Iterator[Statement]:
        """The beginnings of rows, from that of the block on."""
        names = {n: array for n, (array, _) in self._names.items()}
        yield from (LocalVariable("s32", array, size=machine.LANES) for array in names.values())
        filled = tuple(
            Assign(Load(Name(array), Name(self.lane)), Cast("s32", Name(self.lane)) * n)
            for n, array in names.items()
        )
        if filled:
            yield For(self.lane, machine.LANES, filled, simd=True)

    def lanes(self, statements: Sequence[Statement]) -> For:
        """A loop over the rows of a block, in lanes."""
        number = Let("s64", self._row, self.block + Name(self.lane))
        rows = (
            Let("s32", row, Load(Name(array), Name(self.lane)))
            for array, row in self._names.values()
        )
        return For(self.lane, machine.LANES, (number, *rows, *statements), simd=True)

    def lie_apart(self, expr: Expr) -> bool:
        """Whether elements of rows that are gathered are in a tree."""
        return any(n in self._names for n in distances(self._row, expr))

    def placed(self, expr: Expr) -> Expr:
        """A tree with the beginnings of rows from the arrays that hold them."""
        if isinstance(expr, Index) and self.lie_apart(expr):
            expr = spelled_out(expr.sum)
        distance = _distance(self._row, expr)
        if distance not in self._names:
            return rebuilt(expr, self.placed)
        row = Group(self.block * distance + Name(self._names[distance][1]))
        assert isinstance(expr, Op)
        return row if isinstance(expr.args[0], Name) else -row
