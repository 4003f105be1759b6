"""Cut: a loop becomes several over ranges of its counter, which decide some of its choices.

    for i < 8: y[i] = i < 3 ? a[i] : b[i - 3]

cut at 3 is

    for i < 3: y[i] = a[i]
    for 3 <= i < 8: y[i] = b[i - 3]

The iterations stay in their order, so this is legal where all of them run. (Exo: `cut_loop` and
`specialize`; others: index-set splitting, and peeling where a range has few iterations.)
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Literal, Name, as_expr, binary
from codegen.schedule.conditions import truth, turning_points, turns
from codegen.schedule.legality import IllegalError, expect_no_break
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.schedule.unroll import copied
from codegen.statements import For, Let, Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr


def cut(body: Body, loop: For, points: Sequence[int], *, written_out: int = 1) -> list[Statement]:
    """A loop over each range between some counts; where bounds are not known, they are compared.

    Parameters
    ----------
    body : draws names.
    loop : counts up, by any step.
    points : the first counts of all ranges but the first one, in order. Conditions of the counter
        alone are decided where they do not turn between them.
    written_out : ranges of so few iterations are no loops, but the iterations themselves.

    Raises
    ------
    IllegalError
        if an iteration may be the last one, if the loop counts down, if the points are in no order,
        or if one of them is not between bounds that are known.
    """
    expect_no_break(loop)
    if loop.counts_down:
        raise IllegalError(f"the loop over {loop.name} counts down")
    ends = [n for n in (loop.start, *points, loop.stop) if isinstance(n, int)]
    if any(low >= high for low, high in pairwise(ends)):
        counts = ", ".join(map(str, points))
        raise IllegalError(f"{counts} are not counts in order inside of the loop over {loop.name}")
    pieces: list[Statement] = []
    parts: list[Part] = []
    for low, high in pairwise((None, *points, None)):
        numbers = _numbers(loop, low, high)
        if numbers is not None and len(numbers) <= written_out:
            pieces += iterations(body, loop, numbers)
            parts += (Part((), {loop.name: Literal(n)}) for n in numbers)
            continue
        bounds: list[int | Expr] = []
        exact: list[int | Expr] = []
        for op, bound, edge in ((">", loop.start, low), ("<", loop.stop, high)):
            if edge is None or isinstance(bound, int):
                bounds.append(bound if edge is None else edge)
                exact.append(bounds[-1])
            else:
                nearest = Name(body.name("bound"))
                value = Choose(binary(op, bound, edge), bound, as_expr(edge))
                pieces.append(Let("s64", nearest.name, value))
                bounds.append(nearest)
                exact.append(value)
        known = points[0] - 1 if low is None else low
        start, stop = loop.start if low is None else low, loop.stop if high is None else high
        holds = _decided(replace(loop, start=start, stop=stop), known)
        pieces.append(part := _part(body, loop, bounds, holds))
        counter = {part.name: Name(loop.name)}
        ranged = replace(part, start=exact[0], stop=exact[1])
        parts.append(Part((ranged,), {loop.name: Name(part.name)}, counter))
    granted(SameIterations((loop,), tuple(parts)))
    applied(f"cut at {', '.join(map(str, points))}", "iterations stay in order", loop, pieces)
    return pieces


def _numbers(loop: For, low: int | None, high: int | None) -> range | None:
    bounds = LoopView(loop).bounds
    if bounds is None:
        return None
    return range(bounds.start if low is None else low, bounds.stop if high is None else high)


def _decided(loop: For, known: int) -> Callable[[Expr], bool | None]:
    """Whether a condition holds in all iterations, as in a known one; None if that differs."""
    within = turning_points(loop)

    def holds(condition: Expr) -> bool | None:
        if turns(condition, loop.name).isdisjoint(within):
            return truth(condition, {loop.name: Literal(known)})
        return None

    return holds


def _part(
    body: Body, loop: For, bounds: Sequence[int | Expr], holds: Callable[[Expr], bool | None]
) -> For:
    """The loop over a range, with the choices made that all of its iterations make."""
    name = body.name(loop.name)
    inside = copied(body, loop.body, {loop.name: Name(name)}, holds)
    return replace(
        loop, name=name, start=bounds[0], stop=bounds[1], trip_count=None, body=tuple(inside)
    )


def iterations(body: Body, loop: For, numbers: Sequence[int]) -> list[Statement]:
    """Some iterations, one after the other.

    Parameters
    ----------
    body : draws names: each iteration has its own.
    loop : whose iterations these are.
    numbers : the counts of the iterations.
    """
    return [s for n in numbers for s in copied(body, loop.body, {loop.name: Literal(n)})]
