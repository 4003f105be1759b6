"""Short loops over numbers of few bits, written out where they fill no vector.

    for i < 9362: for j < 7: y[7 * i + j] = x[7 * i + places[j]]

becomes

    for i < 9362: y[7 * i] = x[7 * i + places[0]]; ... y[7 * i + 6] = x[7 * i + places[6]]

The narrowest vectors of bytes have eight or sixteen, so that such a loop runs without lanes; and
what depends on the inner counter alone is computed once for all rows when it is written out. Loops
that could be collapsed, or exchanged with those around them, are in lanes already; and floats of
few bits stay, for they are computed as numbers of 32 bits, four in a vector. Without this,
the columns of rows of seven bytes, in another order, take 2.7 times as long.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Load
from codegen.loops.work import trip_count, work
from codegen.schedule.loop import LoopView, perfect_nest
from codegen.schedule.unroll import unroll
from codegen.statements import Assign, For, base, callees_in, nested, replaced, straight
from emit_c.kernels.unroll_short_loops import MOST_WRITTEN
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.schedule.types import KernelTypes
    from codegen.statements import Statement


def unroll_narrow_loops(
    body: Body, statements: Sequence[Statement], types: KernelTypes
) -> tuple[Statement, ...]:
    """Statements whose loops of few iterations over few bits are written out, inside of others."""

    def is_narrow(loop: For) -> bool:
        if callees_in(loop.body):
            return False
        every = (s.target for s in nested([loop]) if isinstance(s, Assign))
        stored = {base(each) for each in every if isinstance(each, Load)}
        found = [types.of_argument(array) for array in stored]
        return all(each is not None and each.bytes < min(machine.GATHERED_BYTES) for each in found)

    def inside(statement: Statement) -> Sequence[Statement] | None:
        if isinstance(statement, For) and _is_short(statement) and is_narrow(statement):
            return unroll(body, statement)
        return None

    def change(statement: Statement) -> Sequence[Statement] | None:
        if not isinstance(statement, For) or trip_count(statement) < machine.LANES:
            return None
        # Compilers take their time for each.
        if work(filter(_is_short, nested(statement.body))) > MOST_WRITTEN:
            return None
        return [statement.with_body(replaced(statement.body, inside))]

    return replaced(statements, change)


def _is_short(statement: Statement) -> bool:
    """Whether it is a perfect nest of a loop in lanes, of few iterations."""
    if not isinstance(statement, For):
        return False
    nest = list(perfect_nest(statement))
    last = nest[-1]
    counted = all(LoopView(each).bounds is not None for each in nest)
    few = trip_count(last) < machine.HALF_VECTOR
    fits = few and prod(map(trip_count, nest)) <= machine.LANES
    return counted and fits and last.simd and not last.reductions and straight(last.body)
