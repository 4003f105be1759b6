"""Unroll and jam: several iterations at once, whose loops become one loop.

    for i < 8: t = 0; for k < 9: t = t + x[9 * i + k]; y[i] = t

becomes, two at a time,

    for i < 8 by 2:
      t = 0; t_1 = 0
      for k < 9: t = t + x[9 * i + k]; t_1 = t_1 + x[9 * (i + 1) + k]
      y[i] = t; y[i + 1] = t_1

What both iterations load is loaded once, and their sums do not wait for each other. (Halide:
`unroll` of an inner loop; Exo: `unroll_loop` and `fuse`; LLVM, MLIR: `unroll-and-jam`.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Literal, Name, as_expr
from codegen.schedule.legality import IllegalError, expect_count, expect_jammable
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.schedule.unroll import copied
from codegen.statements import For

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import Statement


def unroll_and_jam(body: Body, loop: For, times: int) -> list[Statement]:
    """Several iterations at once: each statement is done for all of them, before the next one.

        for k < 9: a = x[k]; y[k] = a

    becomes, two at a time,

        for k < 8 by 2: a = x[k]; a_1 = x[k + 1]; y[k] = a; y[k + 1] = a_1
        a_2 = x[8]; y[8] = a_2

    A loop inside does each of its iterations for all of them. It is no longer said to run in lanes
    or on threads, unless the loop around it is.

    Parameters
    ----------
    body : draws names.
    loop : counts by 1, from 0 to a known number.
    times : how many iterations are done at once.

    Raises
    ------
    IllegalError
        if the loop does not count by 1 from 0, if `times` is less than 1, if the bounds of a loop
        inside differ from iteration to iteration, or if an iteration needs what one of those has
        stored that are now done with it.
    """
    view = LoopView(loop)
    expect_count("group", times)
    if view.bounds is None or not view.counts_from_0:
        raise IllegalError(f"the loop over {loop.name} does not count from 0 to a known number")
    reason = expect_jammable(view, times)
    loops: list[Statement] = []
    left = len(view.bounds) % times
    whole = len(view.bounds) - left
    parts = [Part((), {loop.name: Literal(n)}) for n in range(whole, whole + left)]
    if whole:
        lane = Name(loop.name)
        numbers = [lane + k if k else lane for k in range(times)]
        statements = tuple(_jammed(body, loop, numbers))
        jammed = replace(loop, stop=whole, step=times, body=statements)
        loops.append(jammed)
        first = {loop.name: lane - lane % times}
        parts += (Part((jammed,), {loop.name: number}, first) for number in numbers)
    loops += _jammed(body, loop, range(whole, whole + left))
    granted(SameIterations((loop,), tuple(parts), "once"))
    applied(f"unroll_and_jam by {times}", reason, loop, loops)
    return loops


def _jammed(body: Body, loop: For, numbers: Sequence[Expr | int]) -> Iterator[Statement]:
    copies = [list(copied(body, loop.body, {loop.name: as_expr(n)})) for n in numbers]
    return _together(copies, promised=loop.parallel or loop.simd)


def _together(copies: Sequence[Sequence[Statement]], *, promised: bool) -> Iterator[Statement]:
    """The statements of all copies by turns; their loops are one loop."""
    for same in zip(*copies, strict=True):
        loops = [s for s in same if isinstance(s, For)]
        if not loops:
            yield from same
            continue
        first = loops[0]
        yield replace(
            first,
            body=tuple(_together([s.body for s in loops], promised=promised)),
            reductions=tuple(dict.fromkeys(fold for s in loops for fold in s.reductions)),
            simd=first.simd and promised,
            parallel=first.parallel and promised,
        )
