"""Loop coalescing: two loops of a fold as one, where their elements lie one after the other.

    for i < 9362: for j < 7: total = total + x[7 * i + j]

becomes

    for i < 65534: total = total + x[i]

A row of seven fills no vector, and is folded one number after the other. Neither of the counters
may be used alone. Without this, the maximum of all u8 of 9,362 rows of seven takes 20 times as
long, the sum of so many f32 8 times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Index
from codegen.loops.work import trip_count
from codegen.schedule.coalesce import coalesce
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.order import vectorize
from codegen.schedule.trace import attempt
from codegen.statements import For, nested, replaced, trees
from codegen.walk import walk
from hlo.support import machine
from optimizer.analysis.indexing import Counter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.statements import Statement


MOST_COLLAPSED_COLUMNS = 4 * machine.LANES
"""Measured: columns up to which rows are collapsed, if they take long functions. Rows of 33 columns
take half the time."""


def coalesce_loops(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose folds have one loop instead of two, where one counter is enough."""

    def change(statement: Statement) -> Sequence[Statement] | None:
        if not isinstance(statement, For):
            return None
        loop = statement.with_body(coalesce_loops(statement.body))
        while (coalesced := _coalesced(loop)) is not None:
            loop = coalesced
        return [loop]

    return replaced(statements, change)


def _coalesced(outer: For) -> For | None:
    """A loop and the only one inside of it as one loop; None where that cannot be."""
    inner = LoopView(outer).only_loop
    if inner is None or outer.simd or outer.unroll or inner.unroll:
        return None
    folds = outer.reductions or inner.reductions
    alike = outer.parallel == inner.parallel and inner.reductions in ((), folds)
    if not folds or not alike or trip_count(inner) >= MOST_COLLAPSED_COLUMNS:
        return None

    def schedule() -> For:
        loop = coalesce(outer)
        if divides(loop):
            raise IllegalError("a counter is needed alone")
        return vectorize(loop) if inner.simd else loop

    return attempt(schedule)


def divides(loop: For) -> bool:
    """Whether an index has a quotient or a remainder of the loop's counter."""
    every = (each for s in nested(loop.body) for tree in trees(s) for each in walk(tree))
    atoms = (atom for each in every if isinstance(each, Index) for atom, _ in each.sum.terms)
    return any(not isinstance(a, Counter) and loop.name in a.dividend.names for a in atoms)
