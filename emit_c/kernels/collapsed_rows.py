"""Blocks of rows of few columns, each statement of which is one loop over all columns of all rows.

    for row < 32: i = block + row
      for column < 7: y[7 * i + column] = x[9 * i + column] * z[column]

becomes

    for row < 32: for column < 7: copy[7 * row + column] = x[9 * (block + row) + column]
    for k < 224: y[7 * block + k] = copy[k] * tile[k]

Rows that lie one after the other are read where they are. Others are copied before the loop, or
after it where they are stored, and what all rows read is copied once, for each row of a block. A
value that all columns of a row read is copied for each of them: without this, products of rows of
seven f16 by their first elements take 4 times as long, of bf16 3 times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from codegen.expressions import Index, Load, Name, indexed, item
from codegen.kinds import number_of
from codegen.printer import shown
from codegen.schedule.coalesce import coalesce
from codegen.schedule.divide import fresh
from codegen.schedule.fission import fission, reading
from codegen.schedule.interchange import interchange
from codegen.schedule.legality import IllegalError
from codegen.schedule.linear import linear
from codegen.schedule.loop import LoopView, has_loads
from codegen.schedule.order import innermost, vectorize
from codegen.schedule.stage import loading_tile, storing_tile
from codegen.statements import (
    Assign,
    For,
    Let,
    LocalVariable,
    Statement,
    base,
    changed_in,
    names_in,
    renamed,
    rewritten,
    values,
)
from codegen.walk import names_of, rebuilt, substitute, walk
from emit_c.kernels.coalesce_loops import divides
from optimizer.analysis.indexing import counter, unknown
from optimizer.analysis.indexing import linear as row_major

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.kinds import Kind
    from codegen.schedule.types import KernelTypes


class RowColumns(NamedTuple):
    """The columns of a row.

    Attributes
    ----------
    name, width : their counter, and their number.
    counters : of the loops whose iterations it counts, from the outermost on, and their numbers.
    """

    name: str
    width: int
    counters: tuple[tuple[str, int], ...]

    def each(self, statements: Sequence[Statement]) -> For:
        """Statements for each column, in the loops that there were."""
        names, counts = zip(*self.counters, strict=True)
        at = row_major(tuple(counter(name, n) for name, n in self.counters), counts)
        inside = tuple(renamed(s, {self.name: indexed(at)}) for s in statements)
        loop = For(names[-1], counts[-1], inside, simd=True)
        for name, count in reversed(self.counters[:-1]):
            loop = For(name, count, (loop,))
        return loop


class CollapsedRows:
    """A loop over rows on its way to blocks of them.

    Parameters
    ----------
    nest : the loop over rows, and those around it.
    count : the number of rows in a block.

    Attributes
    ----------
    lane : the counter of all columns of all rows of a block.
    before : the statements that copy what all rows read, for all blocks.
    are_copied : whether any elements are.
    """

    def __init__(
        self, body: Body, nest: Sequence[For], columns: RowColumns, count: int, types: KernelTypes
    ) -> None:
        self.rows = nest[-1]
        self.body, self.columns, self.count, self.types = body, columns, count, types
        self.changing = changed_in(nest[:1]) - {columns.name}
        self.own: set[str] = {name for _, name in nest[0].reductions}
        self.lane = body.name("k")
        self.before: list[Statement] = []
        self.are_copied = False
        self.tiles: dict[Load, Load] = {}

    @property
    def size(self) -> int:
        """The number of columns of all rows of a block."""
        return self.columns.width * self.count

    def in_block(self, lane: For, first: Expr | int) -> list[Statement]:
        """The statements for a block, of the loop over its rows and the number of the first one."""
        number, *row = lane.body
        assert isinstance(number, Let)
        assert isinstance(first, Name)
        bounds = LoopView(self.rows).bounds
        blocks = bounds[:: self.count] if bounds else range(_MANY)
        self.row_name, self.row = lane.name, counter(lane.name, self.count)
        at_once = unknown(first.name, blocks[0], blocks[-1]) + self.row
        self.number = {number.name: Index(at_once)}
        self.own |= {s.name for s in row if isinstance(s, LocalVariable)}
        inside = tuple(rewritten(s, self._of_each_row) for s in row)
        # What is promised of the loop holds of its blocks.
        rows = replace(lane, body=(number, *inside), parallel=self.rows.parallel, reductions=())
        values, rows = self._with_values(rows)
        return [*values, *self._distributed(rows)]

    def _of_each_row(self, tree: Expr) -> Expr:
        """A tree with elements of arrays that have those of a row for each row of a block."""
        if not isinstance(tree, Load) or base(tree) not in self.own:
            return rebuilt(tree, self._of_each_row)
        width, column = self.columns.width, counter(self.columns.name, self.columns.width)
        match substitute(tree.index, {self.columns.name: indexed(column)}):
            case Name(name):
                index = column if name == self.columns.name else unknown(name, 0, _MANY)
            case Index(index):
                pass
            case _:
                raise IllegalError(f"nobody knows in which column {shown(tree)} is")
        at = index // width * (width * self.count) + self.row * width + index % width
        return item(tree.pointer, at)

    def _with_values(self, rows: For) -> tuple[list[Statement], For]:
        """Statements that copy values of a row for all of its columns, and the rows without them.

        for row < 32: a = x[row]; for column < 7: y[7 * row + column] = a
        """
        number, *statements = rows.body
        lets = [s for s in statements if isinstance(s, Let)]
        others = [s for s in statements if not isinstance(s, Let)]
        used = set(names_in(others))
        tiles: dict[str, Expr] = {}
        made: list[Statement] = []
        for let in (each for each in lets if each.name in used):
            tiles[let.name] = self._tile(let.kind, made)
        if not tiles:
            return [], rows.with_body([number, *others])
        self.are_copied = True
        copies = [Assign(tile, Name(name)) for name, tile in tiles.items()]
        early = [number, *lets, self.columns.each(copies)]
        late = [renamed(s, tiles) for s in others]
        copying, rest = fission(rows.with_body([*early, *late]), early, [number], {})
        return [*made, fresh(self.body, copying)], replace(rest, parallel=rows.parallel)

    def _distributed(self, rows: For) -> Iterator[Statement]:
        """Each statement of a row for all rows of a block, before the next statement."""
        match rows.body:
            case (_,):
                pass
            case (number, LocalVariable(size=int(size), value=None) as own, *others) if (
                size % self.columns.width == 0
            ):
                yield replace(own, size=size * self.count)
                yield from self._distributed(rows.with_body([number, *others]))
            case (_, For(simd=True) as columns):
                if columns.start or columns.step != 1 or not all(map(_is_plain, columns.body)):
                    raise IllegalError(f"the loop over {columns.name} chooses")
                yield from self._in_lanes(rows)
            case (_, For()):
                around = interchange(rows)
                (inner,) = around.body
                assert isinstance(inner, For)
                inside = self._distributed(replace(inner, reductions=()))
                yield replace(around, body=tuple(inside), parallel=False)
            case (number, For() as first, *_):
                one, others = fission(rows, [number, first], [number], {})
                for part in (one, others):
                    yield from self._distributed(replace(part, parallel=rows.parallel))
            case _:
                raise IllegalError(f"the loop over {rows.name} has more inside than loops")

    def _in_lanes(self, rows: For) -> Iterator[Statement]:
        """One loop over all columns of all rows, with those before and after it that copy some."""
        made: list[Statement] = []
        after: list[Statement] = []
        for element, is_stored in dict.fromkeys(_elements(rows)):
            if self._is_side_by_side(element):
                continue
            is_argument = isinstance(element.pointer, Name) and base(element) not in self.own
            if not is_argument or has_loads(element.index):
                raise IllegalError(f"elements of {base(element)} are not side by side")
            kind = number_of(self.types.of(base(element)))
            if is_stored:
                rows, copies = storing_tile(rows, self._tile(kind, made), element)
                after.append(self._over_columns(copies))
            elif self.changing.isdisjoint(names_of(element)):
                rows = self._with_tile_of_all(rows, kind, element)
            else:
                copies, rows = loading_tile(rows, self._tile(kind, made), element)
                made.append(self._over_columns(copies))
        self.are_copied |= bool(made or after)
        _, columns = rows.body
        loop = coalesce(rows.with_body([renamed(columns, self.number)]), name=self.lane)
        if divides(loop):
            raise IllegalError("a number of a row or of a column is needed alone")
        yield from (*made, vectorize(loop), *after)

    def _with_tile_of_all(self, rows: For, kind: Kind, element: Load) -> For:
        """The loop with a copy of an element that all rows read, once for each row of a block."""
        if element not in self.tiles:
            self.tiles[element] = self._tile(kind, self.before)
            copies, rows = loading_tile(rows, self.tiles[element], element)
            self.before.append(self._over_columns(copies))
            return rows
        number, columns = rows.body
        assert isinstance(columns, For)
        return rows.with_body([number, reading(columns, {element: self.tiles[element]})])

    def _tile(self, kind: Kind, made: list[Statement]) -> Load:
        """The element of a new array that a row and a column have."""
        if not kind:
            raise IllegalError("nobody knows the type of an array")
        name, width = self.body.name("tile"), self.columns.width
        made.append(LocalVariable(kind, name, size=self.size))
        return item(Name(name), self.row * width + counter(self.columns.name, width))

    def _over_columns(self, copies: For) -> For:
        return innermost(copies, lambda loop: self.columns.each(loop.body))

    def _is_side_by_side(self, element: Load) -> bool:
        """Whether an element's neighbours in memory are in neighbouring lanes, or it is for all."""
        width = self.columns.width
        lane = counter(self.lane, self.size)
        known = {self.row_name: indexed(lane // width), self.columns.name: indexed(lane % width)}
        index = substitute(substitute(element.index, self.number), known)
        return self.lane not in names_of(index) or linear(index).stride(self.lane) == 1


_MANY = 1 << 62


def _is_plain(statement: Statement) -> bool:
    return isinstance(statement, Let | Assign | LocalVariable)


def _elements(rows: For) -> Iterator[tuple[Load, bool]]:
    """The elements of an iteration of the loop inside, and whether it stores them."""
    _, columns = rows.body
    assert isinstance(columns, For)
    for s in columns.body:
        if isinstance(s, Assign) and isinstance(s.target, Load):
            yield s.target, True
        loads = (each for tree in values(s) for each in walk(tree) if isinstance(each, Load))
        yield from ((each, False) for each in loads)
