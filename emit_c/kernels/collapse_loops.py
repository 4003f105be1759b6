"""Loop collapsing: several rows of few columns as one loop in lanes, so that lanes are full.

    for i < 9362: for column < 7: total[column] = total[column] + exp_f32(x[7 * i + column])

becomes, with 32 rows of 7 columns in one loop,

    lanes[k] = -0 for every k below 224
    for every block of 32: for k < 224: lanes[k] = lanes[k] + exp_f32(x[7 * block + k])
    total[column] = total[column] + the sum of lanes of that column, for every column

and the rows that are left over are folded as before. Rows that are independent are collapsed as
well, and each of a block has its own variables:

    for i < 9362: sums[column] = 0, for every column; for j < 2: for column < 7: sums[column] = ...

Seven columns fill a vector of four numbers, and three are left over, for which long functions take
as long as for four. Without this, softmax of seven columns of bf16 takes 4 to 7 times as long, the
logarithm of a sum of exponentials 5, and 33 columns take 2 to 3 times as long as they do now.

Two loops over columns, as of an outer product of rows, are taken for one whose counter is divided:
outer products of rows of seven bf16 take half the time.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import gcd
from typing import TYPE_CHECKING

from codegen.elements.folds import all_joined, neutral
from codegen.expressions import Group, Load, Name, as_expr, indexed
from codegen.kinds import number_of
from codegen.loops.work import trip_count
from codegen.statements import (
    Assign,
    Call,
    For,
    Let,
    LocalVariable,
    Statement,
    base,
    callees_in,
    nested,
    renamed,
    replaced,
    straight,
    trees,
)
from codegen.walk import walk
from emit_c.kernels.collapsed_elements import CollapsedElements, CollapsedRows, NotCollapsibleError
from emit_c.kernels.fold_lanes import NAMES, folding_lanes
from emit_c.kernels.peephole.outline_math import has_long_functions
from optimizer import machine
from optimizer.analysis.indexing import counter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.schedule.types import KernelTypes

MOST_MERGED_COLUMNS = 16 * machine.LANES
"""Chosen: columns of two loops up to which rows are collapsed; their blocks fill half of the
first-level cache."""


def collapse_loops(
    body: Body, statements: Sequence[Statement], types: KernelTypes
) -> tuple[Statement, ...]:
    """Statements whose rows of few columns are collapsed, several at a time, into longer ones."""
    return replaced(statements, lambda s: _collapsed(body, s, types))


def _collapsed(body: Body, statement: Statement, types: KernelTypes) -> Sequence[Statement] | None:
    if not isinstance(statement, For):
        return None
    nest = list(_nest(statement))
    merged, columns = _merged(body, nest[-1])
    known = _columns([*nest[:-1], merged])
    if known is None:
        return None
    columns = columns or (known,)
    loop, width = nest[-1], columns[-1][1]
    count = _rows_of_block(merged, width, known[1], types)
    inner = [s for s in merged.body if isinstance(s, For) and not s.simd]
    # Rows that are inside of others lie one after the other.
    if not count or any(_rows_of_block(s, width, width, types) for s in inner):
        return None
    names = body.name(f"{loop.name}_block"), body.name("row"), body.name("k")
    rows = CollapsedRows(loop.name, *known, count, *names, columns)
    try:
        return _Collapsed(body, [*nest[:-1], merged], rows, types).statements(loop)
    except NotCollapsibleError:
        return None


def _merged(body: Body, loop: For) -> tuple[For, tuple[tuple[str, int], ...]]:
    """A loop over rows whose two loops over columns are one, and the counters of both.

    The loop as it is, and no counters, where there are no two, or where these only do what vectors
    do in a step: then it takes longer to copy the elements.
    """
    match loop.body:
        case (For(start=0, step=1, stop=int(most), simd=False) as outer,):
            pass
        case _:
            return loop, ()
    *lets, inner = outer.body
    if not isinstance(inner, For) or not all(isinstance(s, Let) for s in lets):
        return loop, ()
    if not inner.simd or inner.start or inner.step != 1 or not isinstance(inner.stop, int):
        return loop, ()
    if inner.stop >= machine.LANES or not loop.parallel or not callees_in([inner]):
        return loop, ()
    column = counter(body.name("column"), most * inner.stop)
    values = {
        outer.name: indexed(column // inner.stop), inner.name: indexed(column % inner.stop)
    }  # fmt: skip
    inside = tuple(renamed(s, values) for s in (*lets, *inner.body))
    both = replace(inner, name=column.text, stop=most * inner.stop, body=inside)
    return loop.with_body([both]), ((outer.name, most), (inner.name, inner.stop))


def _columns(nest: Sequence[For]) -> tuple[str, int] | None:
    """The counter of the columns of a loop over rows, and their number; None if there are none."""
    loop = nest[-1]
    lanes = [s for s in nested(loop.body) if isinstance(s, For) and s.simd]
    known = {(s.name, s.stop) for s in lanes}
    independent = loop.parallel or nest[0].reductions
    if not independent or loop.step != 1 or len(known) != 1 or any(s.reductions for s in lanes):
        return None
    ((name, stop),) = known
    has_own = any(not isinstance(s, For) or s.simd for s in loop.body)
    return (name, stop) if isinstance(stop, int) and has_own else None


def _nest(loop: For) -> Iterator[For]:
    """The loops of a perfect nest around those over columns; the last one is over rows."""
    yield loop
    inner = loop.body[0] if len(loop.body) == 1 else None
    if isinstance(inner, For) and not inner.simd and not loop.parallel:
        yield from _nest(inner)


def _rows_of_block(loop: For, width: int, all_columns: int, types: KernelTypes) -> int:
    """The number of rows that fill whole vectors of all types; 0 where none need be collapsed.

    Parameters
    ----------
    width : the columns of the innermost loop; `all_columns` those of a row.
    """
    sizes = _sizes(loop, types)
    lanes = machine.WIDEST_VECTOR // min(sizes, default=machine.WIDEST_VECTOR)
    most = min(lanes, machine.MOST_CHEAP_COLUMNS)
    if not has_long_functions(loop) and (width > most or width % machine.LANES == 0):
        return 0
    most = machine.MOST_COLLAPSED_COLUMNS if width == all_columns else MOST_MERGED_COLUMNS
    if width % lanes == 0 or all_columns > most:
        return 0
    lanes = max(lanes, machine.BLOCK_OF_LANES)
    while lanes >= machine.LANES:
        count = lanes // gcd(lanes, all_columns)
        if trip_count(loop) >= machine.BLOCKS_OF_COLLAPSED * count:
            return count
        lanes //= 2
    return 0


def _sizes(loop: For, types: KernelTypes) -> list[int]:
    """The bytes of the types of numbers that a loop loads and stores."""
    every = (e for s in nested([loop]) for each in trees(s) for e in walk(each))
    found = {types.element_type(base(e)) for e in every if isinstance(e, Load)}
    return [each.bytes for each in found if each]


def _are_worth_copies(loop: For, width: int, types: KernelTypes) -> bool:
    """Whether columns that fill no vector take longer than to copy all of them."""
    narrow = min(_sizes(loop, types)) < min(machine.GATHERED_BYTES)
    return has_long_functions(loop) or (narrow and width < machine.LANES)


class _Collapsed:
    """A loop over rows on its way to blocks of them.

    Attributes
    ----------
    nest : the loop over rows, and those around it, which fold columns together.
    folds : the operation, the type and the name of each array that columns are folded into.
    lanes : for each of these arrays, that of the lanes.
    copies : how many statements copy elements.
    """

    def __init__(
        self, body: Body, nest: Sequence[For], rows: CollapsedRows, types: KernelTypes
    ) -> None:
        self.body, self.nest, self.rows, self.types = body, nest, rows, types
        self.folds = [(op, number_of(types.of(n)), n) for op, n in nest[0].reductions]
        self.lanes = {name: body.name("lanes") for _, _, name in self.folds}
        self.elements = CollapsedElements(body, nest, rows, self.lanes, types)
        self.copies = 0

    def statements(self, old: For) -> Sequence[Statement]:
        """The loop over blocks of rows, and the loop as it was over those that are left."""
        loop, count = self.nest[-1], self.rows.count
        lets = [s for s in loop.body if isinstance(s, Let)]
        others = [s for s in loop.body if s not in lets]
        inside = list(self.elements.of_rows(lets, others)) if lets else []
        self.copies += len(inside)
        inside += [made for s in others for made in self._of_block(s)]
        if self.copies and not _are_worth_copies(loop, self.rows.nest[-1][1], self.types):
            raise NotCollapsibleError
        blocks = For(
            self.rows.block, 0, tuple(inside), loop.start, count, parallel=loop.parallel,
            trip_count=max(trip_count(loop) // count, 1),
        )  # fmt: skip
        rest = replace(old, reductions=())
        if isinstance(loop.start, int) and isinstance(loop.stop, int):
            whole = loop.stop - (loop.stop - loop.start) % count
            made: list[Statement] = [replace(blocks, stop=whole, trip_count=None)]
            made += [replace(rest, start=whole)] if whole < loop.stop else []
        else:
            stop, whole = as_expr(loop.stop), Name(self.body.name("whole"))
            end = stop - Group(stop - loop.start) % count
            rest = replace(rest, start=whole, trip_count=count // 2)
            made = [Let("s64", whole.name, end), replace(blocks, stop=whole), rest]
        for around in reversed(self.nest[:-1]):
            made = [replace(around, body=tuple(made), reductions=())]
        return [*self.elements.before, *self._begun(), *made, *self._together()]

    def _begun(self) -> Iterator[Statement]:
        """The lanes of columns, with neutral elements."""
        starts: list[Statement] = []
        for op, kind, name in self.folds:
            start = neutral(op, kind)
            if start is None:
                raise NotCollapsibleError
            yield LocalVariable(kind, self.lanes[name], size=self.rows.size)
            starts.append(Assign(Load(Name(self.lanes[name]), Name(self.rows.lane)), start))
        if starts:
            yield For(self.rows.lane, self.rows.size, tuple(starts), simd=True)

    def _together(self) -> Iterator[Statement]:
        """Fold the lanes of each column into its variable."""
        column = Name(self.rows.column)
        for op, kind, name in self.folds:
            define = partial(
                folding_lanes, folds=[(op, kind)], lanes=self.rows.size, left=self.rows.width,
                is_inline=False,
            )  # fmt: skip
            function = self.body.function(f"{NAMES[op]}_of_columns", define)
            yield Call(function, (Name(self.lanes[name]),))
            pair = Load(Name(name), column), Load(Name(self.lanes[name]), column)
            yield For(column.name, self.rows.width, all_joined([(op, *pair)]), simd=True)

    def _of_block(self, statement: Statement) -> Iterator[Statement]:
        """A statement of a row for all rows of a block."""
        match statement:
            case LocalVariable(size=int(size), value=None) if size % self.rows.width == 0:
                yield replace(statement, size=size * self.rows.count)
            case For(simd=True, start=0, step=1) if straight(statement.body):
                before, loop, after = self.elements.in_lanes(statement)
                self.copies += len([*before, *after])
                yield from (*before, loop, *after)
            case For(simd=False, start=int(), stop=int()):
                inside = (made for s in statement.body for made in self._of_block(s))
                yield replace(statement, body=tuple(inside), reductions=(), parallel=False)
            case _:
                raise NotCollapsibleError
