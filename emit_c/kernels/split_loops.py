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

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Literal, Name, as_expr, binary
from codegen.loops.work import trip_count
from codegen.loops.written_out import copied
from codegen.statements import For, Forever, If, Let, Statement, nested
from emit_c.kernels.peel_loops import turning_points
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr


def split_loops(
    body: Body, statements: Sequence[Statement], *, shared: bool = False
) -> tuple[Statement, ...]:
    """Statements in which no loop around lanes compares its own counter, where bounds are known.

    Parameters
    ----------
    shared : threads may share a loop around these statements.
    """
    return tuple(made for s in statements for made in _split(body, s, shared))


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
    if not loop.parallel or (shared and trip_count(loop) <= machine.MOST_RANGES):
        return True
    if not isinstance(loop.start, int) or not isinstance(loop.stop, int):
        return False
    ranges = pairwise((loop.start, *turning_points(loop), loop.stop))
    *few, most = sorted(high - low for low, high in ranges)
    return sum(few) <= min(machine.MOST_PEELED, most // machine.HALF_VECTOR)


def _is_around_lanes(loop: For) -> bool:
    return any(isinstance(s, For) and s.simd for s in nested(loop.body))


def _parts(body: Body, loop: For) -> Iterator[Statement]:
    """A loop, or a loop for each range of its counter in which all choices are the same."""
    edges, statements = turning_points(loop), sum(1 for _ in nested(loop.body))
    copies = len(edges) + 1
    if not edges or copies > machine.MOST_RANGES or copies * statements > machine.MOST_COPIED:
        yield loop
        return
    for low, high in pairwise((None, *edges, None)):
        known: dict[str, Expr] = {loop.name: Literal(edges[0] - 1 if low is None else low)}
        if _is_single(loop, low, high):
            yield from copied(body, loop.body, known)
            continue
        bounds: list[int | Expr] = []
        for op, bound, edge in ((">", loop.start, low), ("<", loop.stop, high)):
            if edge is None or isinstance(bound, int):
                bounds.append(bound if edge is None else edge)
            else:
                nearest = Choose(binary(op, bound, edge), bound, as_expr(edge))
                made = Let("s64", body.name("bound"), nearest)
                bounds.append(Name(made.name))
                yield made
        name = body.name(loop.name)
        block = tuple(copied(body, loop.body, {loop.name: Name(name)}, known))
        yield replace(loop, name=name, start=bounds[0], stop=bounds[1], trip_count=None, body=block)


def _is_single(loop: For, low: int | None, high: int | None) -> bool:
    """Whether a range has one iteration, for certain."""
    if not isinstance(loop.start, int) or not isinstance(loop.stop, int):
        return False
    start, stop = loop.start if low is None else low, loop.stop if high is None else high
    return stop - start == 1
