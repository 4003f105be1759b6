"""Short loops inside of longer ones, written out, so that the longer ones run in vector lanes.

    for i: total = 0; for j < 3: total = total + x[3 * i + j]; y[i] = total

becomes

    for i: total = 0; total = total + x[3 * i + 0]; ... total = total + x[3 * i + 2]; y[i] = total

So is a short nest of loops, as over a window. A short row does not fill the lanes of a vector, and
to put its lanes together takes longer than to fold it; but of many rows each lane can have one.
Where an iteration does too much to be written out more than once, the two loops are interchanged in
blocks of the longer one:

    for i: a = f(i); for j < 3: x[3 * i + j] = g(a, j)

becomes

    for every block of 64: for j < 3: for k: i = block + k; a = f(i); x[3 * i + j] = g(a, j)

Without this, the motion of many bodies takes 3.7 times as long, pi by random points 1.7 times.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Load, Name
from codegen.loops.work import trip_count, work
from codegen.schedule.divide import divide
from codegen.schedule.fission import fission
from codegen.schedule.interchange import interchange
from codegen.schedule.loop import LoopView, perfect_nest
from codegen.schedule.order import vectorize
from codegen.schedule.trace import attempt
from codegen.schedule.unroll import unroll_inside
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    Statement,
    replaced,
    straight,
)
from emit_c.kernels.distribute_loops import ITERATIONS_OF_A_BLOCK
from emit_c.kernels.peephole.outline_math import has_long_functions
from emit_c.kernels.row_starts import distances
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr

MOST_WRITTEN = 300
"""Tuned: operations of short loops that are written out where compilers take strides apart.
They take their time for each, and more than that for each of many. With 200, cycles of multigrid
take 1.36 times as long, and no other benchmark longer."""


def unroll_short_loops(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops over short ones run in lanes, if they all can."""
    # Compilers take their time for each operation, and more than that for each of many.
    if sum(map(_work_inside, statements)) > MOST_WRITTEN:
        return replaced(statements, lambda s: _exchanged(body, s))
    return replaced(statements, lambda s: _without_short_loops(body, s))


def _work_inside(statement: Statement) -> int:
    """The work that short loops do in one iteration of each loop around them."""
    if isinstance(statement, If):
        return sum(map(_work_inside, (*statement.then, *statement.otherwise)))
    if not isinstance(statement, For):
        return 0
    if _is_worth_it(statement):
        return work(replace(s, simd=True) for s in statement.body if isinstance(s, For))
    return sum(map(_work_inside, statement.body))


def _without_short_loops(body: Body, statement: Statement) -> Sequence[Statement] | None:
    if not isinstance(statement, For):
        return None
    if (parts := _distributed(statement)) is not None:
        return [
            statement for part in parts for statement in _without_short_loops(body, part) or [part]
        ]
    if not _is_worth_it(statement):
        return None
    written = tuple(unroll_inside(body, statement))
    return [replace(statement, body=written, simd=True)]


def _distributed(loop: For) -> tuple[For, For] | None:
    """Loop fission: a loop without its short loops of long functions, and a loop of only these.

    None if there are no others, or if they share something. A concatenation is computed by such a
    loop: inside, one loop stores each operand.
    """
    if not loop.parallel:
        return None
    dear = [s for s in loop.body if isinstance(s, For) and _is_short(s) and has_long_functions(s)]
    others = [s for s in loop.body if s not in dear]
    if not dear or all(_is_short(s) for s in others if isinstance(s, For)):
        return None
    parts = attempt(lambda: fission(loop, others, (), {}))
    return parts and (replace(parts[0], parallel=True), replace(parts[1], parallel=True))


def _is_worth_it(loop: For) -> bool:
    """Whether a loop has only short ones inside, and its iterations are independent."""
    inner = [s for s in loop.body if isinstance(s, For)]
    if not inner or not loop.parallel or loop.step != 1:
        return False
    if trip_count(loop) < machine.LANES and not _fills_more_lanes(loop, inner):
        return False
    if not all(map(_is_short, inner)) or all(_copies_far(loop.name, s) for s in loop.body):
        return False
    return straight([s for s in loop.body if not isinstance(s, For)])


def _fills_more_lanes(loop: For, inner: Sequence[For]) -> bool:
    """Whether a loop has more iterations than those inside of it, which compute long functions.

    These take as long for a few lanes as for all.
    """
    return has_long_functions(loop) and trip_count(loop) > max(map(trip_count, inner))


def _is_short(loop: For) -> bool:
    """Whether a perfect nest of loops has few iterations."""
    nest = list(perfect_nest(loop))
    count, innermost = prod(map(trip_count, nest)), nest[-1]
    few = 1 < count <= machine.LANES if innermost.reductions else count in machine.SHORT_LOOPS
    return few and all(LoopView(each).is_counted for each in nest) and straight(innermost.body)


def _copies_far(row: str, statement: Statement) -> bool:
    """Whether a statement is a short loop that copies neighbours out of rows that lie far apart.

    They are in one cache line, which is faster to copy at once than in lanes of rows: the first two
    columns of f32[4000,512] take 24 us so, and else 17.
    """
    if not isinstance(statement, For):
        return False
    for inner in statement.body:
        if not isinstance(inner, Let | Assign) or not isinstance(inner.value, Load | Name):
            return False
        if any(n <= machine.LANES for n in distances(row, inner.value)):
            return False
    return True


def _exchanged(body: Body, statement: Statement) -> Sequence[Statement] | None:
    """A short loop of much work around blocks of a longer one; None for other statements."""
    if not isinstance(statement, For) or not _is_worth_exchange(statement):
        return None
    loop, (*_, short) = statement, statement.body
    assert isinstance(loop.stop, int)
    assert isinstance(short, For)
    whole = loop.stop - loop.stop % ITERATIONS_OF_A_BLOCK

    def in_block(lane: For, _: Expr | int) -> Iterator[For]:
        # What is promised of the loop holds of its blocks.
        around = interchange(replace(lane, parallel=True))
        (inner,) = around.body
        assert isinstance(inner, For)
        inner = vectorize(replace(inner, parallel=False, simd=True))
        yield replace(around, body=(inner,), parallel=short.parallel)

    blocks = attempt(
        lambda: divide(body, replace(loop, stop=whole), ITERATIONS_OF_A_BLOCK, in_block)
    )
    if blocks is None:
        return None
    return (*blocks, replace(loop, start=whole)) if whole < loop.stop else blocks


def _is_worth_exchange(loop: For) -> bool:
    """Whether a loop does not do much but for a loop inside, that fills no vector."""
    inner = [s for s in loop.body if isinstance(s, For)]
    if len(inner) != 1 or inner[0] is not loop.body[-1] or not loop.parallel:
        return False
    if not all(LoopView(each).counts_from_0 for each in (loop, *inner)) or inner[0].reductions:
        return False
    if trip_count(loop) < ITERATIONS_OF_A_BLOCK:
        return False
    # Loops that do not fill half of a vector are interchanged with the loop around them, though
    # what they store lies apart then: otherwise rejection sampling takes 2.7 times as long.
    if not 1 < trip_count(inner[0]) < machine.HALF_VECTOR or not inner[0].parallel | inner[0].simd:
        return False
    return straight(inner[0].body)
