"""Loop peeling: the first and last iterations of a loop in lanes, where their choices differ.

    for i: for j < 128: y[i, j] = j < 127 ? x[i, j + 1] : x[i, 0]

becomes

    for i: for j < 127: y[i, j] = x[i, j + 1];  y[i, 127] = x[i, 0]

Arrays that are put together, and padding, make such choices at both ends of a row. In lanes a load
in a choice is one under a mask, which compilers make neither of bytes nor of numbers that lie
apart: all iterations would run one by one. Other choices stay, as iterations alone take longer than
masks. Peeled are a few iterations of loops inside of others, which is where their time is. Without
this, edges of an image take 5 times as long, and cycles of multigrid 1.8 times; with others peeled
as well, the CTC loss takes 1.5 times as long, and breadth-first search 1.3 times.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from codegen.expressions import Load
from codegen.kinds import number_of
from codegen.schedule.conditions import turning_points
from codegen.schedule.cut import cut
from codegen.schedule.loop import LoopView
from codegen.statements import For, Forever, If, Let, changed_in, each_side, nested, replaced
from codegen.walk import names_of
from emit_c.kernels.row_starts import distances
from emit_c.kernels.split_loops import MOST_COPIED, MOST_RANGES
from hlo.support import machine
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.elements.body import Body
    from codegen.statements import Statement


def peel_loops(body: Body, statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes, where they are inside of others, choose less."""
    return replaced(statements, lambda s: _without_ends(body, s))


def _without_ends(body: Body, statement: Statement) -> Sequence[Statement] | None:
    if not isinstance(statement, For | Forever):
        return None
    made: list[Statement] = []
    for each in peel_loops(body, statement.body):
        ends = peeled(body, each) if isinstance(each, For) and each.simd else None
        made += (*ends.before, ends.loop, *ends.after) if ends else (each,)
    return [statement.with_body(made)]


class Peeled(NamedTuple):
    """A loop over most of its iterations, and those before and after it, written out."""

    before: tuple[Statement, ...]
    loop: For
    after: tuple[Statement, ...]


def peeled(body: Body, loop: For) -> Peeled:
    """A loop without its first and last iterations, if they are few and their choices matter."""
    edges = turning_points(loop) if _loads_under_masks(loop) else []
    bounds = LoopView(loop).bounds
    if not edges or bounds is None:
        return Peeled((), loop, ())
    ranges = list(pairwise((bounds.start, *edges, bounds.stop)))
    main = max(ranges, key=lambda each: each[1] - each[0])
    left = main[1] - main[0]
    others = bounds.stop - bounds.start - left
    copied_statements = (others + 1) * sum(1 for _ in nested(loop.body))
    if others > MOST_RANGES or left < machine.LANES:
        return Peeled((), loop, ())
    if copied_statements > MOST_COPIED:
        return Peeled((), loop, ())
    made = cut(body, loop, edges, written_out=others)
    place = next(k for k, s in enumerate(made) if isinstance(s, For))
    rest = made[place]
    assert isinstance(rest, For)
    return Peeled(tuple(made[:place]), rest, tuple(made[place + 1 :]))


def _loads_under_masks(loop: For) -> bool:
    """Whether a choice loads numbers that compilers find no masked vectors for.

    Those are numbers of few bits, numbers that lie apart, and one that is the same for all lanes.
    """
    inside = changed_in([loop])
    return any(
        ELEMENT_TYPES[number_of(s.kind)].bytes not in machine.GATHERED_BYTES
        or any(n > 1 for n in distances(loop.name, s.value))
        or inside.isdisjoint(names_of(s.value))
        for choice in loop.body
        if isinstance(choice, If)
        for s in each_side([choice])
        if isinstance(s, Let) and isinstance(s.value, Load)
    )
