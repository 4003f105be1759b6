"""Coalesce: two loops around each other as one, which counts both.

    for i < 9: for j < 7: y[7 * i + j] = x[j]

becomes

    for i < 63: y[i] = x[i % 7]

The iterations stay in their order, so this is legal where all of them run. (Halide: `fuse`; Exo:
`mult_loops`.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Name, indexed
from codegen.schedule.legality import IllegalError, expect_no_break
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.statements import For, renamed
from optimizer.analysis.indexing import counter

if TYPE_CHECKING:
    from codegen.expressions import Expr


def coalesce(loop: For) -> For:
    """One loop instead of a loop and the one inside of it; it has the name of the outer one.

    It has no promise but that both of them have given.

    Raises
    ------
    IllegalError
        if there is something else in the loop, if one of them does not count by 1 from 0 to a
        number that is known, or if an iteration may be the last one.
    """
    inner = loop.body[0] if len(loop.body) == 1 else None
    expect_no_break(inner if isinstance(inner, For) else loop)
    if not isinstance(inner, For):
        raise IllegalError(f"the loop over {loop.name} is not around one loop")
    for each in (loop, inner):
        numbers = LoopView(each).bounds
        if numbers is None or (numbers.start, numbers.step) != (0, 1):
            message = f"the loop over {each.name} does not count from 0 to a known number"
            raise IllegalError(message)
    assert isinstance(loop.stop, int)
    assert isinstance(inner.stop, int)
    size = loop.stop * inner.stop
    number, width = counter(loop.name, size), max(inner.stop, 1)
    values: dict[str, Expr] = {
        loop.name: indexed(number // width),
        inner.name: indexed(number % width),
    }
    made = replace(
        loop,
        stop=size,
        body=tuple(renamed(s, values) for s in inner.body),
        simd=False,
        parallel=loop.parallel and inner.parallel,
        reductions=loop.reductions or inner.reductions,
        trip_count=None,
    )
    together = {loop.name: Name(loop.name) * width + Name(inner.name)}
    granted(SameIterations((loop, inner), (Part((made,), values, together),)))
    applied("coalesce", "iterations stay in order", loop, [made])
    return made
