"""Coalesce: loops around each other as one, which counts all of them.

    for i < 9: for j < 7: y[7 * i + j] = x[j]

becomes

    for i < 63: y[i] = x[i % 7]

The iterations stay in their order, so this is legal where all of them run. (Halide: `fuse`; Exo:
`mult_loops`.)
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Group, Literal, Name, indexed
from codegen.schedule.legality import IllegalError, expect_no_break
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.statements import For, renamed
from optimizer.analysis.indexing import counter, delinear

if TYPE_CHECKING:
    from codegen.expressions import Expr


def coalesce(loop: For, depth: int = 2, name: str = "") -> For:
    """One loop, which counts from 0, instead of a loop and those inside of it.

    It has no promise but those that all of them have given.

    Parameters
    ----------
    loop : the outermost one.
    depth : how many loops there are.
    name : of the counter; that of the outermost loop, unless it is said.

    Raises
    ------
    IllegalError
        if there is something else in a loop, if the bounds of one of them are not known, or if an
        iteration may be the last one.
    """
    loops = [loop]
    while len(loops) < depth:
        inner = LoopView(loops[-1]).only_loop
        if inner is None:
            raise IllegalError(f"the loop over {loops[-1].name} is not around one loop")
        loops.append(inner)
    expect_no_break(loops[-1])
    bounds: list[range] = []
    for level in loops:
        numbers = LoopView(level).bounds
        if numbers is None:
            raise IllegalError(f"the bounds of the loop over {level.name} are not known")
        bounds.append(numbers)
    name, sizes = name or loop.name, list(map(len, bounds))
    parts = delinear(counter(name, prod(sizes)), sizes)
    values = {
        loop.name: indexed(part * numbers.step + numbers.start)
        for loop, part, numbers in zip(loops, parts, bounds, strict=True)
    }
    coalesced = replace(
        loop,
        name=name,
        start=0,
        stop=prod(sizes),
        step=1,
        body=tuple(renamed(s, values) for s in loops[-1].body),
        simd=False,
        parallel=all(loop.parallel for loop in loops),
        reductions=next((loop.reductions for loop in loops if loop.reductions), ()),
        trip_count=None,
    )
    if depth == 1:  # only the name is another one
        return coalesced
    number: Expr = Literal(0)
    for level, numbers in zip(loops, bounds, strict=True):
        trip = Group(Name(level.name) - numbers.start) / numbers.step
        number = number * len(numbers) + trip
    granted(SameIterations(tuple(loops), (Part((coalesced,), values, {name: number}),)))
    applied("coalesce", "iterations stay in order", loop, [coalesced])
    return coalesced
