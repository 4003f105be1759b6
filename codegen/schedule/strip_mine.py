"""Strip-mine: a loop becomes a loop over strips of its iterations, each of which is a loop inside.

    for i < 90: y[i] = x[i]

becomes, in strips of 4,

    for i < 23:
      if (i < 22): for v < 4: y[4 * i + v] = x[4 * i + v]
      else: for 88 <= i_1 < 90: y[i_1] = x[i_1]

Index arithmetic has the new counters, so that it shows which iterations of a strip are neighbours
in memory: see `divide` for blocks whose iterations keep the number that they had. The iterations
stay in their order, so this is legal where all of them run. (Halide: `split`; others:
strip-mining.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Index, Name, binary, indexed
from codegen.schedule.legality import IllegalError, expect_count, expect_no_break
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.schedule.unroll import copied
from codegen.statements import For, If, renamed
from optimizer.analysis.indexing import counter, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codegen.elements.body import Body
    from codegen.statements import Statement


def strip_mine(
    body: Body, loop: For, size: int, inside: Callable[[For], Iterable[Statement]], lane: str = "k"
) -> For:
    """A loop over strips, the last of which does what is left over; it has the loop's promises.

    Parameters
    ----------
    body : draws names.
    loop : counts by 1, from 0 to a known number.
    size : iterations of a strip.
    inside : gives the statements for a strip, for the loop over its iterations.
    lane : the name that the counter of these has, or begins with.

    Raises
    ------
    IllegalError
        if the size is less than 1, if the loop does not count by 1 from 0 to a known number, if
        that is less than a strip, or if an iteration may be the last one.
    """
    expect_no_break(loop)
    expect_count("strip", size)
    numbers = LoopView(loop).bounds
    if numbers is None or (numbers.start, numbers.step) != (0, 1) or len(numbers) < size:
        raise IllegalError(f"the loop over {loop.name} is not known to fill a strip of {size}")
    whole, left = divmod(len(numbers), size)
    within = body.name(lane)
    place = indexed(counter(loop.name, whole) * size + counter(within, size))
    statements = tuple(renamed(s, {loop.name: place}) for s in loop.body)
    strip = replace(loop, name=within, stop=size, body=statements)
    strip_loops: tuple[Statement, ...] = (strip,)
    rest: tuple[For, ...] = ()
    if left:
        last, first = body.name("i"), whole * size
        number = unknown(last, first, len(numbers) - 1)
        value = Index(number) if number.terms else indexed(number)  # a name has no bounds
        left_over = tuple(copied(body, [renamed(s, {loop.name: value}) for s in loop.body], {}))
        rest = (replace(loop, name=last, start=first, body=left_over, parallel=False),)

    def around(strip: Iterable[Statement]) -> For:
        whole_strip = tuple(strip)
        if left:
            whole_strip = (If(binary("<", Name(loop.name), whole), whole_strip, rest),)
        stop = whole + (1 if left else 0)
        return replace(loop, stop=stop, body=whole_strip, simd=False)

    at, number = {loop.name: place}, Name(loop.name)
    inverse = {loop.name: number / size, within: number % size}
    others = (Part((s,), {loop.name: Name(s.name)}, {s.name: number}) for s in rest)
    strips = Part((replace(loop, stop=whole), strip), at, inverse)
    granted(SameIterations((loop,), (strips, *others)))
    applied(f"strip_mine by {size}", "iterations stay in order", loop, [around(strip_loops)])
    return around(inside(strip))
