"""Short rows of a block, transposed: the elements of each column are side by side, in lanes.

    for k in lanes: y[block + k] = f(x[10 * (block + k)], x[10 * (block + k) + 1], ...)

becomes

    for r < 16: for c < 16 in lanes: padded[16 * r + c] = c < 10 ? x[10 * (block + r) + c] : 0
    for k in lanes: columns[k] = padded[16 * k]; columns[16 + k] = padded[16 * k + 1]; ...
    for k in lanes: y[block + k] = f(columns[k], columns[16 + k], ...)

Compilers transpose rows of 8 or 16 elements by shuffles if all elements are needed, which takes
less time than to gather each column: 31 ns instead of 50 for 16 rows of 10 `float`. Rows that are
written are transposed as well, after the loops in lanes. Without this, the argmax of rows of 10
takes 1.7 times as long, their logsumexp 1.3 times, and softmax 1.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from codegen.expressions import Choose, Index, Literal, Load, Name, binary, item
from codegen.kinds import number_of
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    changed_in,
    names_in,
    nested,
    replaced,
)
from hlo.support import machine
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Counter, Sum, counter, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import Statement

TRANSPOSED_BYTES = 4
"""Measured: bytes of numbers whose short rows shuffles transpose in less time than columns of them
are gathered, or scattered. Of 8 bytes, rows of 5 to 16 numbers take as long."""


class _RowsOfArray(NamedTuple):
    """Rows of an array: how far they lie apart, and where the first one of all begins."""

    array: str
    distance: int
    begin: Sum


@dataclass(slots=True)
class _ColumnsOfRows:
    """The columns that are needed of some rows, by their distance from where a row begins.

    Attributes
    ----------
    name : of the array that will have them.
    """

    kind: str
    numbers: set[int] = field(default_factory=set[int])
    name: str = ""

    @property
    def low(self) -> int:
        """The first column."""
        return min(self.numbers)

    @property
    def count(self) -> int:
        """The number of columns from the first to the last."""
        return max(self.numbers) - self.low + 1

    @property
    def width(self) -> int:
        """The number that compilers take apart at once; 0 where there are more columns."""
        return next((n for n in machine.TAKEN_WHOLE if self.count <= n), 0)

    @property
    def take_long_to_gather(self) -> bool:
        """Whether shuffles of whole rows take less time."""
        known = ELEMENT_TYPES.get(self.kind)
        if known is None or known.bytes != TRANSPOSED_BYTES:
            return False
        return self.width > 0 and self.count > max(machine.TAKEN_APART)


class TransposedRows:
    """Blocks of rows that are read and written by columns.

    Parameters
    ----------
    row : the counter of rows.
    statements : of a row; loops along it may be among them.
    apart : the distances of the rows that compilers do not take apart.
    lane, block : the counter of the lanes of a block, and the name of the number of its first row.

    Attributes
    ----------
    statements : of a row in a lane.
    """

    def __init__(
        self, body: Body, row: str, statements: Sequence[Statement], apart: Sequence[int],
        lane: str, block: Expr | int,
    ) -> None:  # fmt: skip
        assert isinstance(block, Name)
        self.block, self.lane = block, lane
        self._body, self._row, self._apart = body, row, apart
        self._along = {s.name for s in nested(statements) if isinstance(s, For)}
        self._changed = changed_in(statements)
        self._read: dict[_RowsOfArray, _ColumnsOfRows] = {}
        self._written: dict[_RowsOfArray, _ColumnsOfRows] = {}
        self._find(statements)
        self._read = _named(body, self._read)
        self._written = _named(body, self._written)
        self.statements = replaced(statements, self._of_lane)

    # ------------------------------------------------------------------------------------- finding

    def _find(self, statements: Sequence[Statement]) -> None:
        """Find the columns that each row reads, and those that each writes."""
        certain = list(_certain(statements))
        kinds = {s.name: number_of(s.kind) for s in certain if isinstance(s, Let)}
        mentions = names_in(statements)
        stores = [s.target for s in certain if isinstance(s, Assign)]
        for statement in certain:
            if isinstance(statement, Let) and (place := self._place(statement.value)):
                if place[0].array not in self._changed:
                    self._add(self._read, kinds[statement.name], *place)
            elif isinstance(statement, Assign) and (place := self._place(statement.target)):
                value, array = statement.value, place[0].array
                own = [s for s in stores if isinstance(s, Load) and s.pointer == Name(array)]
                if isinstance(value, Name) and mentions.count(array) == len(own):
                    self._add(self._written, kinds.get(value.name, ""), *place)
        for rows, columns in list(self._written.items()):
            every = sum(r.array == rows.array for r in self._written)
            if len(columns.numbers) < columns.count or every > 1:
                del self._written[rows]

    def _add(
        self, known: dict[_RowsOfArray, _ColumnsOfRows], kind: str, rows: _RowsOfArray, column: Sum
    ) -> None:
        columns = known.setdefault(rows, _ColumnsOfRows(kind))
        numbers = range(column.low, column.high + 1)
        columns.numbers.update(numbers if _is_each(column) else (column.low, column.high))

    def _place(self, element: Expr) -> tuple[_RowsOfArray, Sum] | None:
        """The rows and the column that an element is in; None where it is in no such rows."""
        match element:
            case Load(Name(array), Index(number)):
                distance = sum(f for atom, f in number.terms if _is_one_of(atom, {self._row}))
            case _:
                return None
        along = tuple(term for term in number.terms if _is_one_of(term[0], self._along))
        own = {self._row, *self._along}
        begin = Sum(0, tuple(term for term in number.terms if not _is_one_of(term[0], own)))
        is_known = self._changed.isdisjoint(begin.names) and self._row not in begin.names
        if abs(distance) not in self._apart or not is_known:
            return None
        return _RowsOfArray(array, distance, begin), Sum(number.constant, along)

    # ------------------------------------------------------------------------------------- writing

    def _of_lane(self, statement: Statement) -> Sequence[Statement] | None:
        """A statement that reads or writes a column in place of a row; None for others."""
        match statement:
            case Let(kind, name, Load() as element):
                column = self._column(self._read, element)
                return None if column is None else [Let(kind, name, column)]
            case Assign(Load() as element, value):
                column = self._column(self._written, element)
                return None if column is None else [Assign(column, value)]
            case _:
                return None

    def _column(self, known: dict[_RowsOfArray, _ColumnsOfRows], element: Expr) -> Load | None:
        """The element of a transposed row, in a lane; None if the row is not transposed."""
        if (row_place := self._place(element)) is None:
            return None
        rows, number = row_place
        columns = known.get(rows)
        if columns is None or not _is_within(number, columns):
            return None
        place = (number + -columns.low) * machine.LANES + unknown(self.lane, 0, machine.LANES - 1)
        return item(Name(columns.name), place)

    def loads(self) -> Iterator[Statement]:
        """The statements that fill the arrays of columns, for a block of rows.

        Those that are written are declared.
        """
        for rows, columns in self._read.items():
            yield from _Transposition(self, self._body, rows, columns).loads()
        for columns in self._written.values():
            yield LocalVariable(columns.kind, columns.name, size=columns.width * machine.LANES)

    def stores(self) -> Iterator[Statement]:
        """The statements that write the rows of a block, from their columns."""
        for rows, columns in self._written.items():
            yield from _Transposition(self, self._body, rows, columns).stores()


class _Transposition:
    """Rows of a block, and their columns.

    Rows are padded to as many columns as compilers take apart at once.
    """

    def __init__(
        self, transposed: TransposedRows, body: Body, rows: _RowsOfArray, columns: _ColumnsOfRows
    ) -> None:
        self.lane, self.columns = transposed.lane, columns
        self.padded, self.row, self.column = (body.name(n) for n in ("padded", "r", "c"))
        row = unknown(self.row, 0, machine.LANES - 1)
        column = unknown(self.column, 0, columns.width - 1)
        first = unknown(transposed.block.name, 0, 1 << 62)
        self.element = item(
            Name(rows.array),
            rows.begin + first * rows.distance + row * rows.distance + column + columns.low,
        )
        self.within = item(Name(self.padded), row * columns.width + column)
        self.is_column = binary("<", Name(self.column), columns.count)

    def loads(self) -> Iterator[Statement]:
        """Fill the columns from the rows."""
        kind, size = self.columns.kind, self.columns.width * machine.LANES
        value = Choose(self.is_column, self.element, Literal(0, kind))
        yield LocalVariable(kind, self.padded, size=size)
        yield self._along_rows(Assign(self.within, value))
        yield LocalVariable(kind, self.columns.name, size=size)
        yield transposed(self.lane, self.padded, self.columns.name, self.columns.width)

    def stores(self) -> Iterator[Statement]:
        """Write the rows from the columns."""
        size = self.columns.width * machine.LANES
        yield LocalVariable(self.columns.kind, self.padded, size=size)
        last = self.columns.count - 1
        pairs = (self._pair(k, min(k, last)) for k in range(self.columns.width))
        yield self._in_lanes([Assign(padded, column) for padded, column in pairs])
        yield self._along_rows(If(self.is_column, (Assign(self.element, self.within),)))

    def _pair(self, place: int, column: int) -> tuple[Load, Load]:
        """An element of a padded row, and of a column."""
        lane = unknown(self.lane, 0, machine.LANES - 1)
        padded = item(Name(self.padded), lane * self.columns.width + place)
        return padded, item(Name(self.columns.name), lane + column * machine.LANES)

    def _along_rows(self, statement: Statement) -> For:
        return For(
            self.row,
            machine.LANES,
            (For(self.column, self.columns.width, (statement,), simd=True),),
        )

    def _in_lanes(self, statements: Iterable[Statement]) -> For:
        return For(self.lane, machine.LANES, tuple(statements), simd=True)


def transposed(lane: str, padded: str, columns: str, width: int) -> For:
    """A loop that takes padded rows apart, a row in each lane, into columns.

    All elements of a row are taken, as compilers find no shuffles for a part of them.
    """
    row = counter(lane, machine.LANES)
    taken = (
        Assign(item(Name(columns), row + k * machine.LANES), item(Name(padded), row * width + k))
        for k in range(width)
    )
    return For(lane, machine.LANES, tuple(taken), simd=True)


def _named(
    body: Body, columns_of: Mapping[_RowsOfArray, _ColumnsOfRows]
) -> dict[_RowsOfArray, _ColumnsOfRows]:
    """Columns that shuffles transpose in less time, with a name for the array of each."""
    slow = {rows: columns for rows, columns in columns_of.items() if columns.take_long_to_gather}
    for columns in slow.values():
        columns.name = body.name("columns")
    return slow


def _certain(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements that every row runs, whatever it chooses."""
    for statement in statements:
        if isinstance(statement, For):
            yield from _certain(statement.body)
        elif not isinstance(statement, If):
            yield statement


def _is_one_of(atom: object, names: set[str]) -> bool:
    return isinstance(atom, Counter) and atom.name in names


def _is_each(column: Sum) -> bool:
    """Whether a column is each one from its lowest to its highest, as its counter counts."""
    return sum(abs(f) for _, f in column.terms) <= 1


def _is_within(column: Sum, columns: _ColumnsOfRows) -> bool:
    return columns.low <= column.low and column.high < columns.low + columns.count
