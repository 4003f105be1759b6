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

from codegen.expressions import Load, Name
from codegen.kinds import number_of
from codegen.loops.work import trip_count
from codegen.schedule.coalesce import coalesce
from codegen.schedule.divide import divide
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.order import vectorize
from codegen.schedule.rfactor import PartialFold, rfactor
from codegen.schedule.trace import attempt
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
    replaced,
    trees,
)
from codegen.walk import walk
from emit_c.kernels.coalesce_loops import MOST_COLLAPSED_COLUMNS
from emit_c.kernels.collapsed_rows import CollapsedRows, RowColumns
from emit_c.kernels.fold_lanes import NAMES, folding_lanes
from emit_c.kernels.overlap_remainders import LONGEST_ROW
from emit_c.kernels.peephole.outline_math import has_long_functions
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.schedule.types import KernelTypes

MOST_CHEAP_COLUMNS, BLOCKS_OF_COLLAPSED = 3 * machine.LANES, 4
"""Measured: columns up to which rows that take no long functions are collapsed, and how many blocks
of rows are worth it. The extremes of 49 columns of bytes would take 1.2 times as long."""


def collapse_loops(
    body: Body, statements: Sequence[Statement], types: KernelTypes
) -> tuple[Statement, ...]:
    """Statements whose rows of few columns are collapsed, several at a time, into longer ones."""
    return replaced(statements, lambda s: _collapsed(body, s, types))


def _collapsed(body: Body, statement: Statement, types: KernelTypes) -> Sequence[Statement] | None:
    if not isinstance(statement, For):
        return None
    *around, old = _nest(statement)
    loop, counters = _merged(body, old)
    known = _columns([*around, loop])
    if known is None:
        return None
    columns = RowColumns(*known, counters or (known,))
    width = columns.counters[-1][1]
    count = _rows_of_block(loop, width, columns.width, types)
    inner = [s for s in loop.body if isinstance(s, For) and not s.simd]
    # Rows that are inside of others lie one after the other.
    if not count or any(_rows_of_block(s, width, width, types) for s in inner):
        return None

    def schedule() -> list[Statement]:
        (whole,) = replaced([statement], lambda s: [loop] if s is old else None)
        assert isinstance(whole, For)
        lanes = {name: body.name("lanes") for _, name in statement.reductions}
        kinds = {name: number_of(types.of(name)) for name in lanes}
        parts = {name: Name(array) for name, array in lanes.items()}
        fold = rfactor(whole, kinds, parts) if parts else PartialFold((), {}, whole)
        nest = list(_nest(fold.loop))
        rows = CollapsedRows(body, nest, columns, count, types)

        def rest(left: For) -> list[For]:
            return [replace(old, start=left.start, reductions=(), trip_count=left.trip_count)]

        made = _within(around, divide(body, nest[-1], count, rows.in_block, rest=rest, inner="row"))
        if rows.are_copied and not _are_worth_copies(loop, width, types):
            raise IllegalError(f"copies of rows of the loop over {loop.name} take too long")
        begun, joined = _folded_lanes(body, fold, kinds, lanes, rows)
        return [*rows.before, *begun, *made, *joined]

    return attempt(schedule)


def _within(around: Sequence[For], statements: Sequence[Statement]) -> Sequence[Statement]:
    """Statements inside of loops, which no longer fold."""
    for loop in reversed(around):
        statements = [replace(loop, body=tuple(statements), reductions=())]
    return statements


def _merged(body: Body, loop: For) -> tuple[For, tuple[tuple[str, int], ...]]:
    """A loop over rows whose two loops over columns are one, and the counters of both.

    The loop as it is, and no counters, where there are no two, or where these only do what vectors
    do in a step: then it takes longer to copy the elements.
    """
    outer = LoopView(loop).only_loop
    if outer is None or outer.simd or not outer.body or not loop.parallel:
        return loop, ()
    *lets, inner = outer.body
    if not isinstance(inner, For) or not all(isinstance(s, Let) for s in lets):
        return loop, ()
    if not inner.simd or not callees_in([inner]) or trip_count(inner) >= machine.LANES:
        return loop, ()
    perfect = outer.with_body([inner.with_body([*lets, *inner.body])])
    column = attempt(lambda: vectorize(coalesce(perfect, name=body.name("column"))))
    if column is None:
        return loop, ()
    counters = ((each.name, trip_count(each)) for each in (outer, inner))
    return loop.with_body([column]), tuple(counters)


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
    inner = LoopView(loop).only_loop
    if inner is not None and not inner.simd and not loop.parallel:
        yield from _nest(inner)


def _rows_of_block(loop: For, width: int, all_columns: int, types: KernelTypes) -> int:
    """The number of rows that fill whole vectors of all types; 0 where none need be collapsed.

    Parameters
    ----------
    width : the columns of the innermost loop; `all_columns` those of a row.
    """
    sizes = _sizes(loop, types)
    lanes = machine.WIDEST_VECTOR // min(sizes, default=machine.WIDEST_VECTOR)
    most = min(lanes, MOST_CHEAP_COLUMNS)
    if not has_long_functions(loop) and (width > most or width % machine.LANES == 0):
        return 0
    most = MOST_COLLAPSED_COLUMNS if width == all_columns else LONGEST_ROW
    if width % lanes == 0 or all_columns > most:
        return 0
    lanes = max(lanes, machine.BLOCK_OF_LANES)
    while lanes >= machine.LANES:
        count = lanes // gcd(lanes, all_columns)
        if trip_count(loop) >= BLOCKS_OF_COLLAPSED * count:
            return count
        lanes //= 2
    return 0


def _sizes(loop: For, types: KernelTypes) -> list[int]:
    """The bytes of the types of numbers that a loop loads and stores."""
    every = (e for s in nested([loop]) for tree in trees(s) for e in walk(tree))
    element_types = {types.element_type(base(e)) for e in every if isinstance(e, Load)}
    return [kind.bytes for kind in element_types if kind]


def _are_worth_copies(loop: For, width: int, types: KernelTypes) -> bool:
    """Whether columns that fill no vector take longer than to copy all of them."""
    narrow = min(_sizes(loop, types)) < min(machine.GATHERED_BYTES)
    return has_long_functions(loop) or (narrow and width < machine.LANES)


def _folded_lanes(
    body: Body, fold: PartialFold, kinds: Mapping[str, str], lanes: Mapping[str, str],
    rows: CollapsedRows,
) -> tuple[list[Statement], list[Statement]]:  # fmt: skip
    """Statements that fill lanes with neutral elements, and that fold those of each column."""
    begun: list[Statement] = []
    joined: list[Statement] = []
    if lanes:
        starts = (Assign(Load(Name(lanes[n]), Name(rows.lane)), fold.starts[n]) for n in lanes)
        begun += (LocalVariable(kinds[n], array, size=rows.size) for n, array in lanes.items())
        begun.append(For(rows.lane, rows.size, tuple(starts), simd=True))
    column, width = Name(rows.columns.name), rows.columns.width
    for op, name in fold.folds:
        define = partial(
            folding_lanes, folds=[(op, kinds[name])], lanes=rows.size, left=width, is_inline=False
        )
        function = body.function(f"{NAMES[op]}_of_columns", define)
        joined.append(Call(function, (Name(lanes[name]),)))
        whole, part = Load(Name(name), column), Load(Name(lanes[name]), column)
        one = replace(fold, folds=[(op, name)]).joined({name: whole}, {name: part})
        joined.append(For(column.name, width, one, simd=True))
    return begun, joined
