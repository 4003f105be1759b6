"""The elements of several rows of few columns, in one loop in lanes over all columns of all rows.

    x[7 * i + column]      x[9 * i + column]      y[column]

become

    x[7 * block + k]       copy[k]                tile[k]

Rows that lie one after the other are read where they are. Others are copied before the loop, or
after it where they are stored, and what all rows read is copied once, for each row of a block. A
value that all columns of a row read is copied for each of them: without this, products of rows of
seven f16 by their first elements take 4 times as long, of bf16 3 times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Expr, Index, Load, Name, indexed
from codegen.kinds import number_of
from codegen.schedule.unroll import copied
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    Statement,
    base,
    names_in,
    nested,
    renamed,
    rewritten,
    trees,
)
from codegen.walk import names_of, rebuilt, substitute
from optimizer.analysis.indexing import Counter, Sum, counter, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.schedule.types import KernelTypes


class NotCollapsibleError(Exception):
    """The error of a loop over rows that cannot be collapsed."""


@dataclass(frozen=True, slots=True)
class CollapsedRows:
    """Several rows of columns.

    Attributes
    ----------
    number, column : the counters of all rows, and of columns.
    width, count : how many columns there are, and rows in a block.
    block, row, lane : the counters of blocks, of the rows of a block, and of their columns.
    nest : the counters of nested loops over columns, from the outermost on, and their numbers.
    """

    number: str
    column: str
    width: int
    count: int
    block: str
    row: str
    lane: str
    nest: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """The number of columns of all rows of a block."""
        return self.width * self.count

    def in_turn(self, statement: Statement) -> For:
        """A statement for each column of each row of a block."""
        columns = self.over_columns([statement])
        if not any(self.number in names_of(each) for each in trees(statement)):
            return For(self.row, self.count, (columns,))
        number = Let("s64", self.number, Name(self.block) + Name(self.row))
        return For(self.row, self.count, (number, columns))

    def over_columns(self, statements: Sequence[Statement]) -> For:
        """Statements for each column of a row."""
        names, counts = zip(*self.nest, strict=True)
        at = linear(tuple(counter(name, n) for name, n in self.nest), counts)
        inside = tuple(renamed(s, {self.column: indexed(at)}) for s in statements)
        loop = For(names[-1], counts[-1], inside, simd=True)
        for name, count in reversed(self.nest[:-1]):
            loop = For(name, count, (loop,))
        return loop


class CollapsedElements:
    """The elements that a loop over rows loads and stores.

    Parameters
    ----------
    nest : the loop over rows, and those around it.
    lanes : for each array that columns are folded into, that of the lanes.

    Attributes
    ----------
    before : the statements that fill tiles, for all blocks of rows.
    values : the tiles of values that are known before the columns of a row, by their names.
    """

    def __init__(
        self, body: Body, nest: Sequence[For], rows: CollapsedRows, lanes: Mapping[str, str],
        types: KernelTypes,
    ) -> None:  # fmt: skip
        self.body, self.rows, self.lanes, self.types = body, rows, lanes, types
        inside = list(nested([nest[0]]))
        declared = {s.name for s in inside if isinstance(s, Let | LocalVariable | For)}
        self.changing = declared - {rows.column}
        self.written = {base(s.target) for s in inside if isinstance(s, Assign)}
        self.own = {s.name for s in nest[-1].body if isinstance(s, LocalVariable)}
        self.tiles: dict[Load, Load] = {}
        self.before: list[Statement] = []
        self.values: dict[str, Load] = {}

    def of_rows(self, lets: Sequence[Let], others: Sequence[Statement]) -> Iterator[Statement]:
        """Compute the values of rows that their columns need, and repeat each for all columns."""
        declared = {s.name for s in others if isinstance(s, LocalVariable)}
        names = {name for let in lets for name in names_of(let.value)}
        if not names.isdisjoint(declared | self.written):
            raise NotCollapsibleError
        used = set(names_in(others))
        number = Name(self.rows.row) * self.rows.width + Name(self.rows.column)
        copies: list[Statement] = []
        for let in lets:
            if let.name in used:
                tile = Name(self.body.name("tile"))
                yield LocalVariable(let.kind, tile.name, size=self.rows.size)
                self.values[let.name] = Load(tile, Name(self.rows.lane))
                copies.append(Assign(Load(tile, number), Name(let.name)))
        if not copies:
            return
        number_of_row = Let("s64", self.rows.number, Name(self.rows.block) + Name(self.rows.row))
        columns = self.rows.over_columns(copies)
        inside = tuple(copied(self.body, (number_of_row, *lets, columns), {}))
        yield For(self.rows.row, self.rows.count, inside)

    def in_lanes(self, loop: For) -> tuple[list[Statement], For, list[Statement]]:
        """The loop over the columns of all rows of a block, with copies before it and after it."""
        made = _LoopOverColumns(self, loop)
        return made.before, made.loop, made.after

    def array(self, element: Load, before: list[Statement]) -> tuple[Load, Load]:
        """A new array of the rows of a block: its element in lanes, and in a loop over rows."""
        kind, name = number_of(self.types.of(base(element))), self.body.name("tile")
        if not kind or not isinstance(element.pointer, Name):
            raise NotCollapsibleError
        before.append(LocalVariable(kind, name, size=self.rows.size))
        number = Name(self.rows.row) * self.rows.width + Name(self.rows.column)
        return Load(Name(name), Name(self.rows.lane)), Load(Name(name), number)

    def tile(self, element: Load) -> Load | None:
        """The copy of an element that all rows read; None if it differs from row to row."""
        unknown_before = not self.changing.isdisjoint(names_of(element.index))
        if unknown_before or base(element) in self.written:
            return None
        if element not in self.tiles:
            self.tiles[element], copy = self.array(element, self.before)
            self.before.append(self.rows.in_turn(Assign(copy, element)))
        return self.tiles[element]

    def side_by_side(self, element: Load) -> Load | None:
        """An element of rows that lie one after the other; None if these do not."""
        rows, array = self.rows, base(element)
        found = self._strides(element.index)
        if found is None:
            return None
        row, column, rest = found
        if array in self.lanes:
            if (row, column, rest) != (0, 1, Sum(0)):
                raise NotCollapsibleError
            return Load(Name(self.lanes[array]), Name(rows.lane))
        if array in self.own:
            apart = [rest.constant, *(factor for _, factor in rest.terms)]
            if (row, column) != (0, 1) or any(n % rows.width for n in apart):
                raise NotCollapsibleError
            number = rest * rows.count + unknown(rows.lane, 0, rows.size - 1)
            return Load(Name(array), Index(number) if rest != Sum(0) else Name(rows.lane))
        if (row, column) != (rows.width, 1):
            return None
        names = {rows.number: Name(rows.block), rows.column: Name(rows.lane)}
        return Load(element.pointer, substitute(element.index, names))

    def _strides(self, index: Expr) -> tuple[int, int, Sum] | None:
        """By how much an index grows with the row, and with the column, and the rest of it.

        None if it grows by one after several columns.
        """
        match index:
            case Name(name):
                total = unknown(name, 0, 1)
            case Index(total):
                pass
            case _:
                raise NotCollapsibleError
        found, rest = {self.rows.number: 0, self.rows.column: 0}, Sum(total.constant)
        for atom, factor in total.terms:
            if isinstance(atom, Counter) and atom.name in found:
                found[atom.name] += factor
            elif isinstance(atom, Counter) or found.keys().isdisjoint(atom.dividend.names):
                rest += Sum(0, ((atom, factor),))
            elif len(self.rows.nest) > 1:
                return None
            else:
                raise NotCollapsibleError
        row, column = found.values()
        return row, column, rest


class _LoopOverColumns:
    """A loop over columns on its way to one over those of all rows of a block.

    Attributes
    ----------
    loop : the loop over all columns.
    before, after : the statements that copy elements.
    """

    def __init__(self, elements: CollapsedElements, loop: For) -> None:
        self.elements, self.rows = elements, elements.rows
        self.copies: dict[Load, Load] = {}
        self.before: list[Statement] = []
        self.after: list[Statement] = []
        self.inside = {s.name for s in loop.body if isinstance(s, Let | LocalVariable)}
        body = tuple(map(self._in_lanes, loop.body))
        self.loop = replace(loop, name=self.rows.lane, stop=self.rows.size, body=body)

    def _in_lanes(self, statement: Statement) -> Statement:
        if isinstance(statement, If):
            raise NotCollapsibleError
        if isinstance(statement, Assign) and isinstance(statement.target, Load):
            return Assign(self._stored(statement.target), self._changed(statement.value))
        return rewritten(statement, self._changed)

    def _changed(self, expr: Expr, *, chosen: bool = False) -> Expr:
        """A tree for the columns of all rows.

        Parameters
        ----------
        chosen : it may not be computed, so that no other array is there for it to be loaded from.
        """
        if isinstance(expr, Name) and expr.name in self.elements.values:
            return self.elements.values[expr.name]
        if isinstance(expr, Name | Index):
            if not {*self.elements.values, self.rows.number, self.rows.column}.isdisjoint(
                names_of(expr)
            ):
                raise NotCollapsibleError
            return expr
        if isinstance(expr, Load):
            return self._loaded(expr, chosen=chosen)
        chosen = chosen or isinstance(expr, Choose)
        return rebuilt(expr, lambda inside: self._changed(inside, chosen=chosen))

    def _loaded(self, element: Load, *, chosen: bool) -> Expr:
        names = set(names_of(element.index))
        if not names.isdisjoint(self.elements.values):
            raise NotCollapsibleError
        if names.isdisjoint({self.rows.number, self.rows.column}):
            return rebuilt(element, self._changed)
        found = self.elements.side_by_side(element) or self.copies.get(element)
        if found is not None:
            return found
        if chosen or not names.isdisjoint(self.inside):
            raise NotCollapsibleError
        if (tile := self.elements.tile(element)) is not None:
            return tile
        found, copy = self.elements.array(element, self.before)
        self.before.append(self.rows.in_turn(Assign(copy, element)))
        return self.copies.setdefault(element, found)

    def _stored(self, element: Load) -> Load:
        found = self.elements.side_by_side(element)
        if found is None:
            found, copy = self.elements.array(element, self.before)
            self.after.append(self.rows.in_turn(Assign(element, copy)))
        return found
