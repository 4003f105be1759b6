"""Loops around lanes, cut where their choices change.

    for i < 8: for j in lanes: y[j] = y[j] + (i < 3 ? a[i, j] : b[i - 3, j])

becomes

    for i < 3: for j in lanes: y[j] = y[j] + a[i, j]
    for 3 <= i < 8: for j in lanes: y[j] = y[j] + b[i - 3, j]

In lanes a choice is made by computing both sides, and a load in it is one under a mask; where all
lanes choose alike, one side is enough. Such choices come from arrays that are put together, and
from padding, along a dimension that is summed up, or along a short one inside of others. The
iterations stay in their order. Compilers call it index-set splitting. Without it, CTC loss takes
2.5 times as long, and the gradient of embeddings beside their neighbours 1.5 times.

A loop that threads share is cut where one part keeps nearly all of it: the few rows at an edge are
done before and after. The windows of ResNet-50's maximum, of which an edge has some less, take 1.3
times as long with a mask for each row.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from codegen.loops.work import trip_count
from codegen.schedule.conditions import turning_points
from codegen.schedule.cut import cut
from codegen.schedule.loop import LoopView
from codegen.statements import For, Forever, If, Statement, nested
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body

MOST_RANGES, MOST_COPIED = 4, 900
"""Chosen: ranges into which a loop is cut where its choices change, of which each iteration that
runs alone is one; and statements in all of them before these are decided: compilers take their time
for each. With 600, cycles of multigrid take 1.8 times as long."""


def split_loops(
    body: Body, statements: Sequence[Statement], *, shared: bool = False
) -> tuple[Statement, ...]:
    """Statements in which no loop around lanes compares its own counter, where bounds are known.

    Parameters
    ----------
    shared : threads may share a loop around these statements.
    """
    return tuple(piece for s in statements for piece in _split(body, s, shared))


def _split(body: Body, statement: Statement, shared: bool) -> Iterator[Statement]:
    match statement:
        case For(simd=True):
            yield statement
        case For(step=1) if _is_around_lanes(statement) and _may_be_cut(statement, shared):
            within = shared or statement.parallel
            inside = split_loops(body, statement.body, shared=within)
            yield from _parts(body, statement.with_body(inside))
        case For() | Forever():
            within = shared or (isinstance(statement, For) and statement.parallel)
            yield statement.with_body(split_loops(body, statement.body, shared=within))
        case If(condition, then, otherwise):
            both = (split_loops(body, branch, shared=shared) for branch in (then, otherwise))
            yield If(condition, *both)
        case _:
            yield statement


def _may_be_cut(loop: For, shared: bool) -> bool:
    """Whether threads do not need a loop whole: its iterations are in turn, or few are cut off."""
    if not loop.parallel or (shared and trip_count(loop) <= MOST_RANGES):
        return True
    bounds = LoopView(loop).bounds
    if bounds is None:
        return False
    ranges = pairwise((bounds.start, *turning_points(loop), bounds.stop))
    *few, most = sorted(high - low for low, high in ranges)
    return sum(few) <= min(MOST_RANGES, most // machine.HALF_VECTOR)


def _is_around_lanes(loop: For) -> bool:
    return any(isinstance(s, For) and s.simd for s in nested(loop.body))


def _parts(body: Body, loop: For) -> list[Statement]:
    """A loop, or a loop for each range of its counter in which all choices are the same."""
    points, statements = turning_points(loop), sum(1 for _ in nested(loop.body))
    copies = len(points) + 1
    if not points or copies > MOST_RANGES or copies * statements > MOST_COPIED:
        return [loop]
    return cut(body, loop, points)
