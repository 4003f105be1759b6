"""Short rows side by side in lanes, whose elements lie apart and are gathered.

    for i: total = 0; for j < 10: total = total + x[10 * i + j]; y[i] = total

becomes

    for every block of 16: rows[k] = 10 * k for every k
      for k: total = 0; total = total + x[10 * block + rows[k] + 0]; ...; y[block + k] = total

Compilers take numbers apart that lie 2, 3 or 4 apart, or 8 or 16 if they need all. Of others they
load one after the other, which takes as long as to fold them one by one; but of elements of an
array of their own they know no more than that, and gather them all lanes at once. Without this, a
fluid by the lattice Boltzmann method takes 3.4 times as long, k-means 1.6 times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.kinds import number_of
from codegen.loops.work import trip_count, work
from codegen.schedule.divide import divide
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.trace import attempt
from codegen.schedule.unroll import unroll_inside
from codegen.statements import (
    Assign,
    For,
    Let,
    LocalVariable,
    Statement,
    callees_in,
    each_side,
    nested,
    replaced,
    rewritten,
    straight,
    trees,
)
from emit_c.code.prelude import functions_of_numbers
from emit_c.kernels.row_starts import RowStarts, distances
from emit_c.kernels.transposed_rows import TransposedRows
from emit_c.kernels.unroll_short_loops import MOST_WRITTEN
from hlo.support import machine
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from hlo.types.element_type import ElementType

MANY_ROWS = 4 * machine.LANES
"""Rows from which on they are worth a lane each. With 0, eight programs take as long, but twice as
long to compile."""
GATHERED_WORK = 5
"""Measured: operations of one iteration for which numbers are worth gathering. With 0, sums of 5 to
16 numbers take 1.8 to 4.6 times as long."""
MOST_GATHERED, MOST_CALLED = 600, 16
"""Tuned: operations, and functions, that are written out for a row that is gathered."""


def gather_short_rows(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops over short rows run in lanes of rows, if these have to be gathered."""
    return replaced(statements, lambda s: _in_lanes(body, s))


def _in_lanes(body: Body, statement: Statement) -> Sequence[Statement] | None:
    if not isinstance(statement, For) or not is_over_short_rows(statement):
        return None
    if not _is_worth_it(statement):
        return None
    return attempt(lambda: _ShortRows(body, statement).statements()) or [statement]


def is_over_short_rows(loop: For) -> bool:
    """Whether a loop is over many rows of no more numbers than a vector, and folds each."""
    inner = [s for s in loop.body if isinstance(s, For)]
    if not loop.parallel or not any(s.reductions for s in inner) or trip_count(loop) < MANY_ROWS:
        return False
    if not all(LoopView(each).counts_from_0 for each in (loop, *inner)):
        return False
    others = [s for s in loop.body if not isinstance(s, For)]
    if not all(map(straight, (others, *(each.body for each in inner)))):
        return False
    return max(map(trip_count, inner)) <= machine.LANES


def can_be_gathered(known: ElementType | None) -> bool:
    """Whether vectors of a type can be gathered from anywhere, and scattered."""
    return known is not None and known.bytes in machine.GATHERED_BYTES and not known.is_complex


def _is_worth_it(loop: For) -> bool:
    """Whether short loops do much, but no more than can be written out."""
    inner = [s for s in loop.body if isinstance(s, For)]
    long = functions_of_numbers()
    called = sum(trip_count(s) * sum(f.name in long for f in callees_in([s])) for s in inner)
    much = sum(work([replace(s, simd=True)]) for s in inner)
    short = much <= MOST_GATHERED and called <= MOST_CALLED
    return does_much(loop) and short


def does_much(loop: For) -> bool:
    """Whether short loops do more than to load and to add up, which takes no longer without lanes.

    Of folds alone that many iterations are written out; what else so many do is done in parts of
    lanes.
    """
    inner = [s for s in loop.body if isinstance(s, For)]
    much = any(work([replace(s, simd=True)]) >= GATHERED_WORK * trip_count(s) for s in inner)
    return much or any(trip_count(s) > machine.HALF_VECTOR and not s.reductions for s in inner)


def distances_gathered(loop: For) -> list[int]:
    """The distances between rows, of a loop over short ones, that compilers do not take apart."""
    every = [each for s in nested([loop]) for each in trees(s)]
    factors = {n for each in every for n in distances(loop.name, each)}
    inner = [replace(s, simd=True) for s in loop.body if isinstance(s, For)]
    whole = set(map(trip_count, inner)).intersection(machine.TAKEN_WHOLE)
    left = whole if work(inner) <= MOST_WRITTEN else ()
    return sorted(factors.difference(machine.TAKEN_APART, left))


class _ShortRows:
    """A loop over short rows on its way to lanes of them.

    Attributes
    ----------
    apart : how far apart the rows of each array are that are not taken apart.
    """

    def __init__(self, body: Body, loop: For) -> None:
        self.body, self.loop = body, loop
        self.written = tuple(unroll_inside(body, loop))
        self.apart = distances_gathered(loop)

    def _can_be_gathered(self) -> bool:
        """Whether vectors of the loaded and stored types can be gathered and scattered."""
        every = list(each_side(self.written))
        kinds = {number_of(s.kind) for s in every if isinstance(s, Let | LocalVariable)}
        lets = [s for s in every if isinstance(s, Let)]
        loaded = {number_of(s.kind) for s in lets if self._lies_apart(s.value)}
        stored = any(isinstance(s, Assign) and self._lies_apart(s.target) for s in every)
        return all(can_be_gathered(ELEMENT_TYPES.get(k)) for k in (kinds if stored else loaded))

    def _lies_apart(self, expr: Expr) -> bool:
        return any(n in self.apart for n in distances(self.loop.name, expr))

    def statements(self) -> Sequence[Statement]:
        """The loop over blocks of rows, and one over those that are left.

        Raises
        ------
        IllegalError
            if no rows lie apart, or if no instruction gathers numbers of their types.
        """
        loop = self.loop
        if not self.apart or not self._can_be_gathered():
            raise IllegalError(f"no instruction gathers the rows of the loop over {loop.name}")
        return divide(self.body, loop, machine.LANES, self._in_block, rest=lambda left: [left])

    def _in_block(self, lanes: For, block: Expr | int) -> Sequence[Statement]:
        """The statements for a block of rows, a lane each."""
        row = self.loop.name
        transposed = TransposedRows(self.body, row, self.written, self.apart, lanes.name, block)
        every = (each for s in nested(transposed.statements) for each in trees(s))
        found = {n for each in every for n in distances(row, each)}
        apart = sorted(found.intersection(self.apart))
        starts = RowStarts(self.body, row, transposed, apart)
        return starts.of_block(
            [starts.lanes([rewritten(s, starts.placed) for s in transposed.statements])]
        )
