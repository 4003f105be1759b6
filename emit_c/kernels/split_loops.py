"""Loops around lanes, cut where their choices change.

    for i < 8: for j in lanes: y[j] = y[j] + (i < 3 ? a[i, j] : b[i - 3, j])

becomes

    for i < 3: for j in lanes: y[j] = y[j] + a[i, j]
    for 3 <= i < 8: for j in lanes: y[j] = y[j] + b[i - 3, j]

In lanes a choice is made by computing both sides, and a load in it is one under a mask; where all
lanes choose alike, one side is enough. Such choices come from arrays that are put together, and
from padding, along a dimension that is summed up. The iterations stay in their order. Compilers
call it index-set splitting. Without it, CTC loss takes 2.5 times as long.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from codegen.expressions import Literal, Name
from codegen.statements import For, Forever, If, Statement, nested
from codegen.walk import names_of
from emit_c.kernels.work import trip_count
from emit_c.kernels.written_out import copied, parts_of, truth
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr


def split_loops(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops around lanes ask nothing of their own counter, where that is known."""
    return tuple(made for s in statements for made in _split(body, s))


def _split(body: Body, statement: Statement) -> Iterator[Statement]:
    match statement:
        case For(simd=True):
            yield statement
        case For(parallel=False, start=int(), stop=int(), step=1) if _is_around_lanes(statement):
            inside = statement.with_body(split_loops(body, statement.body))
            yield from _parts(body, inside)
        case For() | Forever():
            yield statement.with_body(split_loops(body, statement.body))
        case If(condition, then, otherwise):
            yield If(condition, split_loops(body, then), split_loops(body, otherwise))
        case _:
            yield statement


def _is_around_lanes(loop: For) -> bool:
    lanes = any(isinstance(s, For) and s.simd for s in loop.body)
    return lanes and 1 < trip_count(loop) <= machine.MOST_ASKED


def _parts(body: Body, loop: For) -> Iterator[Statement]:
    """A loop, or a loop for each range of its counter in which all choices are the same."""
    asked = _asked(loop)
    runs = [list(run) for _, run in groupby(_counters(loop), lambda n: _answers(loop, asked, n))]
    if not 1 < len(runs) <= machine.MOST_RANGES:
        yield loop
        return
    for run in runs:
        known: dict[str, Expr] = {loop.name: Literal(run[0])}
        if len(run) == 1:
            yield from copied(body, loop.body, known)
        else:
            name = body.name(loop.name)
            inside = copied(body, loop.body, {loop.name: Name(name)}, known)
            bounds = {"start": run[0], "stop": run[-1] + 1, "trip_count": None}
            yield replace(loop, name=name, body=tuple(inside), **bounds)


def _counters(loop: For) -> range:
    assert isinstance(loop.start, int), loop
    assert isinstance(loop.stop, int), loop
    return range(loop.start, loop.stop)


def _asked(loop: For) -> list[Expr]:
    """The comparisons inside of a loop that its counter alone decides."""
    conditions = (s.condition for s in nested(loop.body) if isinstance(s, If))
    parts = dict.fromkeys(part for c in conditions for part in parts_of(c))
    return [part for part in parts if set(names_of(part)) == {loop.name}]


def _answers(loop: For, asked: Sequence[Expr], number: int) -> tuple[bool | None, ...]:
    """The truth of each comparison in an iteration."""
    known: dict[str, Expr] = {loop.name: Literal(number)}
    return tuple(truth(part, known) for part in asked)
