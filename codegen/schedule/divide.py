"""Divide: a loop becomes a loop over blocks of its iterations.

    for i < 90: f(i)

becomes, in blocks of 32,

    for i_block < 64 by 32: for k < 32: i = i_block + k; f(i)
    for k < 26: i = 64 + k; f(i)

(Halide: `split`; Exo: `divide_loop`; MLIR: `tile`. The second loop is the tail, cut off.) With a
guard, all blocks are whole, and iterations past the end do nothing:

    for i_block < 90 by 32: for k < 32: i = i_block + k; if (i < 90) f(i)

This needs no bounds that are known, and one loop, which is what a grid of threads has. (Halide:
`GuardWithIf`; Exo: `guard`.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from codegen.expressions import Group, Index, Name, as_expr, binary
from codegen.schedule.legality import (
    IllegalError,
    expect_no_break,
    expect_repeatable_iterations,
)
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.schedule.unroll import copied
from codegen.statements import For, If, Let, changed_in
from codegen.walk import names_of
from optimizer.analysis.indexing import Counter, Sum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import Statement

    _Inside = Callable[[For, Expr | int], Iterable[Statement]]


def divide(
    body: Body, loop: For, size: int, inside: _Inside, *, tail: Literal["cut", "guard"] = "cut"
) -> list[Statement]:
    """A loop in blocks, and the iterations left over as a shorter block of their own.

    Parameters
    ----------
    body : draws names.
    size : iterations of a block. Where the tail is cut off, a loop of no more that begins with 0 is
        one, as it is.
    inside : gives the statements for a block: for the loop over its iterations, which counts from
        0, and for the number of the first one. It is called again for what is left over.
    tail : "guard" for one loop over blocks that are all whole, with a condition in each iteration
        where that is needed.

    Raises
    ------
    IllegalError
        if the loop does not count by 1, from one number that is known to another; with a guard, if
        it does not count by 1 to a number that stays the same; or if an iteration may be the last.
    """
    expect_no_break(loop)
    if tail == "guard":
        return [_guarded(body, loop, size, inside)]
    numbers = LoopView(loop).bounds
    if numbers is None or numbers.step != 1:
        raise IllegalError(f"the bounds of the loop over {loop.name} are not known")
    if len(numbers) <= size and numbers.start == 0:
        return list(inside(loop, 0))
    if len(numbers) <= size:
        lane, first = _block(body, loop, numbers.start, len(numbers))
        before = {lane.name: Name(loop.name) - numbers.start}
        granted(SameIterations((loop,), (Part((lane,), _counted(lane), before),)))
        applied("count from 0", "iterations stay in order", loop, [lane])
        return list(inside(lane, first))
    block, left = Name(body.name(f"{loop.name}_block")), len(numbers) % size
    lane, first = _block(body, loop, block, size)
    whole = numbers.stop - left
    blocks = replace(
        loop, name=block.name, stop=whole, step=size, body=(lane,), simd=False, reductions=()
    )
    rest = [replace(loop, start=whole)] if left else []
    same = {loop.name: Name(loop.name)}
    granted(SameIterations((loop,), (_part(loop, blocks), *(Part((r,), same, same) for r in rest))))
    applied(f"divide by {size}", "each iteration is in one block", loop, [blocks, *rest])
    made: list[Statement] = [replace(blocks, body=tuple(inside(lane, first)))]
    if left:
        made += inside(*_block(body, loop, whole, left))
    return made


def _guarded(body: Body, loop: For, size: int, inside: _Inside) -> For:
    """The loop over blocks whose iterations past the end do nothing."""
    numbers, changed = LoopView(loop).bounds, changed_in([loop])
    if loop.step != 1 or not changed.isdisjoint(names_of(as_expr(loop.stop))):
        raise IllegalError(f"the loop over {loop.name} does not count by 1 to one number")
    if numbers is None or len(numbers) % size:
        is_left = binary("<", Name(loop.name), loop.stop)
        whole = replace(loop, body=(If(is_left, loop.body),), trip_count=None)
    else:
        whole = loop
    block, trips = Name(body.name(f"{loop.name}_block")), loop.trip_count
    lane, first = _block(body, whole, block, size)
    lane = replace(lane, parallel=loop.parallel)
    if numbers:
        # As index arithmetic, which is simplified where the counters are digits of another one.
        begin = Counter(block.name, numbers.start, numbers[::size][-1])
        total = Sum(0, ((begin, 1), (Counter(lane.name, 0, size - 1), 1)))
        lane = lane.with_body([Let(loop.kind, loop.name, Index(total)), *lane.body[1:]])
    made = replace(
        loop, name=block.name, step=size, body=(lane,), simd=False, reductions=(),
        trip_count=None if trips is None else -(-trips // size),
    )  # fmt: skip
    is_one = None if whole is loop else binary("<", _counted(lane)[loop.name], loop.stop)
    granted(SameIterations((loop,), (replace(_part(loop, made), condition=is_one),)))
    reason = "each iteration is in one block, and those past the end do nothing"
    applied(f"divide by {size} with a guard", reason, loop, [made])
    return made.with_body(inside(lane, first))


def _block(body: Body, loop: For, first: Expr | int, count: int) -> tuple[For, Expr | int]:
    lane = Name(body.name("k"))
    number = lane if first == 0 else lane + first
    statements = (Let(loop.kind, loop.name, number), *loop.body)
    made = replace(loop, name=lane.name, start=0, stop=count, body=statements, parallel=False)
    return made, first


def _part(loop: For, blocks: For) -> Part:
    """The iterations in blocks: iteration i is number `(i - start) % size` of a block."""
    (lane,) = blocks.body
    assert isinstance(lane, For)
    number = Group(Name(loop.name) - loop.start) % blocks.step
    inverse: dict[str, Expr] = {blocks.name: Name(loop.name) - Group(number), lane.name: number}
    return Part((blocks, lane), _counted(lane), inverse)


def _counted(lane: For) -> dict[str, Expr]:
    """The number of an iteration, as it begins with it."""
    let = lane.body[0]
    assert isinstance(let, Let)
    return {let.name: let.value}


def overlap(body: Body, loop: For, size: int) -> list[For]:
    """The iterations of whole blocks, and a last block that ends with the loop.

        for i < 43: y[i] = x[i]

    becomes, in blocks of 16,

        for i < 32: y[i] = x[i]
        for 27 <= i < 43: y[i] = x[i]

    (Halide: `split` with `ShiftInwards`; the second loop does some iterations again.)

    Raises
    ------
    IllegalError
        if the loop does not count by 1, from one number that is known to another, if these are too
        few for a block, or if an iteration that runs again loads something else then.
    """
    numbers = LoopView(loop).bounds
    if numbers is None or numbers.step != 1 or len(numbers) < size:
        raise IllegalError(f"the loop over {loop.name} is not known to fill a block of {size}")
    left = len(numbers) % size
    if not left:
        return [loop]
    reason = expect_repeatable_iterations(LoopView(loop), size - left)
    last = fresh(body, replace(loop, start=numbers.stop - size))
    made = [replace(loop, stop=numbers.stop - left), last]
    same = {loop.name: Name(loop.name)}
    granted(SameIterations((loop,), tuple(Part((m,), same, same) for m in made), "again"))
    applied(f"overlap by {size}", reason, loop, made)
    return made


def fresh(body: Body, loop: For) -> For:
    """A loop whose iterations have names of their own, so that it may be there beside another."""
    return replace(loop, body=tuple(copied(body, loop.body, {})))
