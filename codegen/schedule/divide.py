"""Divide: a loop becomes a loop over blocks of its iterations.

    for i < 90: f(i)

becomes, in blocks of 32,

    for i_block < 64 by 32: for k < 32: i = i_block + k; f(i)
    for k < 26: i = 64 + k; f(i)

(Halide: `split`; Exo: `divide_loop`; MLIR: `tile`.) The second loop is the tail, which is cut off
here. With other tails there is one loop over blocks, and bounds need not be known:

    for i_block < 90 by 32: for k < 32: i = i_block + k; if (i < 90) f(i)         guard
    for i_block < 90 by 32: for k < 32: i = min(i_block + k, 89); f(i)            again
    for i_block < 90 by 32: for i_block <= i < min(i_block + 32, 90): f(i)        min

A guard is what a grid of threads has. (Halide: `GuardWithIf`; Exo: `guard`.) Where threads need
each other, those past the end do the last iteration again, and store nothing.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Literal, get_args

from codegen.expressions import Choose, Group, Index, Name, as_expr, at_most, binary
from codegen.loops.work import trip_count
from codegen.schedule.legality import (
    IllegalError,
    expect_count,
    expect_no_break,
    expect_only_stores,
    expect_repeatable_iterations,
)
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.schedule.unroll import copied
from codegen.statements import Assign, For, If, Let, base, blocks, changed_in
from codegen.walk import names_of
from optimizer.analysis.indexing import Counter, Sum

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import Statement

    _Inside = Callable[[For, Expr | int], Iterable[Statement]]
    _Rest = Callable[[For], Iterable[Statement]]

Tail = Literal["cut", "guard", "again", "min"]
_TAILS = get_args(Tail)


def divide(
    body: Body,
    loop: For,
    size: int,
    inside: _Inside,
    *,
    tail: Tail = "cut",
    rest: _Rest | None = None,
    word: str = "block",
    inner: str = "k",
) -> list[Statement]:
    """A loop in blocks, and the iterations left over as a shorter block of their own.

    Parameters
    ----------
    body : draws names.
    loop : counts by 1; its bounds are known unless the tail or `rest` says otherwise.
    size : iterations of a block. Where the tail is cut off, a loop of no more that begins with 0 is
        one, as it is.
    inside : gives the statements for a block: for the loop over its iterations, which counts from
        0, and for the number of the first one. It is called again for what is left over.
    tail : "guard" for one loop over blocks that are all whole, with a condition in each iteration
        where that is needed; "again" for the same, where the last iteration is done again instead,
        and only its stores have the condition; "min" for blocks that end with the loop, and count
        as it does.
    rest : gives the statements for what is left over instead, as a loop that counts on from the
        blocks. Then bounds need not be known.
    word, inner : of the name of the counter of blocks; the name of that of a block's iterations.

    Raises
    ------
    IllegalError
        if the size is less than 1; if the loop does not count by 1, from one number that is known
        to another; with another tail or a rest, if it does not count by 1 to a number that stays
        the same; if an iteration may be the last; or if the last one may do something else when it
        is done again.
    """
    expect_no_break(loop)
    expect_count("block", size)
    if tail not in _TAILS:
        raise IllegalError(f"there is no tail `{tail}`: there are {', '.join(_TAILS)}")
    if tail != "cut":
        counter = Name(body.name(f"{loop.name}_{word}"))
        if tail == "min":
            return [_ending(body, loop, size, inside, counter)]
        divided = _guarded if tail == "guard" else _repeating
        return [divided(body, loop, size, inside, counter, inner=inner)]
    numbers = LoopView(loop).bounds
    if rest is None:
        if numbers is None or numbers.step != 1:
            raise IllegalError(f"the bounds of the loop over {loop.name} are not known")
        if len(numbers) <= size:
            return list(inside(*_from_0(body, loop, inner)))
    elif numbers is not None and len(numbers) < size:
        return list(rest(loop))
    _expect_fixed_end(loop)
    block = Name(body.name(f"{loop.name}_{word}"))
    lane, first = _block(body, loop, block, size, inner)
    before, whole = _end_of_blocks(body, loop, size)
    trips = None if isinstance(whole, int) else trip_count(loop)
    blocks = replace(
        loop, name=block.name, stop=whole, step=size, body=(lane,), simd=False, reductions=(),
        trip_count=trips and trips // size,
    )  # fmt: skip
    left = replace(loop, start=whole, trip_count=trips and trips % size)
    tails = [left] if whole != loop.stop else []
    same = {loop.name: Name(loop.name)}
    exact = before[0].value if before else whole
    parts = [_part(loop, replace(blocks, stop=exact))]
    parts += (Part((replace(tail, start=exact),), same, same) for tail in tails)
    granted(SameIterations((loop,), tuple(parts)))
    applied(f"divide by {size}", "each iteration is in one block", loop, [*before, blocks, *tails])
    loops: list[Statement] = [*before, blocks.with_body(inside(lane, first))]
    for remainder in tails:
        loops += rest(remainder) if rest else inside(*_from_0(body, remainder, inner))
    return loops


def _expect_fixed_end(loop: For, *, by_1: bool = True) -> None:
    """Raise unless a loop counts by a known number to one that no iteration changes."""
    is_known = loop.step == 1 if by_1 else isinstance(loop.step, int) and not loop.counts_down
    if not is_known or not changed_in([loop]).isdisjoint(names_of(as_expr(loop.stop))):
        word = "by 1 " if by_1 else ""
        raise IllegalError(f"the loop over {loop.name} does not count {word}to one number")


def _end_of_blocks(body: Body, loop: For, size: int) -> tuple[list[Let], int | Expr]:
    """The end of the last whole block, and its name where it is not known."""
    start, stop = loop.start, loop.stop
    if isinstance(start, int) and isinstance(stop, int):
        return [], stop - max(stop - start, 0) % size
    whole = Name(body.name("whole"))
    end = as_expr(stop) - Group(as_expr(stop) - start) % size
    return [Let("s64", whole.name, end)], whole


def _from_0(body: Body, loop: For, inner: str) -> tuple[For, Expr | int]:
    """A loop that counts from 0, and its first number."""
    numbers = LoopView(loop).bounds
    assert numbers is not None
    if numbers.start == 0:
        return loop, 0
    lane, first = _block(body, loop, numbers.start, len(numbers), inner)
    before = {lane.name: Name(loop.name) - numbers.start}
    granted(SameIterations((loop,), (Part((lane,), _counted(lane), before),)))
    applied("count from 0", "iterations stay in order", loop, [lane])
    return lane, first


def _guarded(body: Body, loop: For, size: int, inside: _Inside, block: Name, *, inner: str) -> For:
    """The loop over blocks whose iterations past the end do nothing."""
    _expect_fixed_end(loop)
    numbers, whole = LoopView(loop).bounds, loop
    if numbers is None or len(numbers) % size:
        is_left = binary("<", Name(loop.name), loop.stop)
        whole = replace(loop, body=(If(is_left, loop.body),))
    lane, first = _block(body, whole, block, size, inner)
    lane = replace(lane, parallel=loop.parallel)
    if numbers:
        # As index arithmetic, which is simplified where the counters are digits of another one.
        begin = Counter(block.name, numbers.start, numbers[::size][-1])
        total = Sum(0, ((begin, 1), (Counter(lane.name, 0, size - 1), 1)))
        lane = lane.with_body([Let(loop.kind, loop.name, Index(total)), *lane.body[1:]])
    blocks = replace(_over_blocks(loop, size, block), body=(lane,))
    is_one = None if whole is loop else binary("<", _counted(lane)[loop.name], loop.stop)
    granted(SameIterations((loop,), (replace(_part(loop, blocks), condition=is_one),)))
    reason = "each iteration is in one block, and those past the end do nothing"
    applied(f"divide by {size} with a guard", reason, loop, [blocks])
    return blocks.with_body(inside(lane, first))


def _repeating(
    body: Body, loop: For, size: int, inside: _Inside, block: Name, *, inner: str
) -> For:
    """The loop over blocks whose iterations past the end are the last one, and store nothing."""
    numbers = LoopView(loop).bounds
    if numbers is None or len(numbers) % size == 0:
        return _guarded(body, loop, size, inside, block, inner=inner)
    expect_only_stores(LoopView(loop))
    _expect_fixed_end(loop)
    reason = "each iteration is in one block, and one that is done again stores nothing"
    number, last = Name(body.name(f"{loop.name}_number")), numbers[-1]
    exists = binary("<", number, loop.stop)
    value = Let(loop.kind, loop.name, Choose(exists, number, as_expr(last)))
    statements = (value, *_where(exists, loop.body, LoopView(loop).declared))
    numbered = replace(loop, name=number.name, body=statements)
    lane, first = _block(body, numbered, block, size, inner)
    lane = replace(lane, parallel=loop.parallel)
    made = replace(_over_blocks(loop, size, block), body=(lane,))
    whole = replace(lane, body=(Let(loop.kind, loop.name, _counted(lane)[number.name]),))
    part = _part(loop, made.with_body([whole]))
    at = {loop.name: at_most(part.at[loop.name], last)}
    granted(SameIterations((loop,), (replace(part, at=at),), "again"))
    applied(f"divide by {size}, the last again", reason, loop, [made])
    return made.with_body(inside(lane, first))


def _where(
    condition: Expr, statements: Iterable[Statement], own: Collection[str]
) -> Iterator[Statement]:
    """Statements that store, but in arrays of their own, under a condition only."""

    def is_store(s: Statement) -> bool:
        return isinstance(s, Assign) and base(s.target) not in own

    for stores, run in groupby(statements, is_store):
        if stores:
            yield If(condition, tuple(run))
            continue
        for s in run:
            match s:
                case For():
                    yield s.with_body(_where(condition, s.body, own))
                case If():
                    yield s.with_blocks(*(_where(condition, side, own) for side in blocks(s)))
                case _:
                    yield s


def _ending(_: Body, loop: For, size: int, inside: _Inside, block: Name) -> For:
    """The loop over blocks that end with the loop; it may count by any number."""
    _expect_fixed_end(loop, by_1=False)
    assert isinstance(loop.step, int)
    numbers, end = LoopView(loop).bounds, block + size * loop.step
    if numbers is None or len(numbers) % size:
        end = at_most(end, loop.stop)
    count = trip_count(loop)
    lane = replace(loop, start=block, stop=end, trip_count=min(size, count))
    blocks = replace(_over_blocks(loop, size, block), body=(lane,), trip_count=-(-count // size))
    number = Name(loop.name)
    first = number - Group(Group(number - loop.start) % (size * loop.step))
    inverse: dict[str, Expr] = {block.name: first, loop.name: number}
    granted(SameIterations((loop,), (Part((blocks, lane), {loop.name: number}, inverse),)))
    reason = "each iteration is in one block, and the last block ends with the loop"
    applied(f"divide by {size}", reason, loop, [blocks])
    return blocks.with_body(inside(lane, block))


def _over_blocks(loop: For, size: int, block: Name) -> For:
    """A loop over all blocks, of which the last one may be shorter."""
    assert isinstance(loop.step, int)
    trips = None if loop.trip_count is None else -(-loop.trip_count // size)
    return replace(
        loop, name=block.name, step=size * loop.step, simd=False, reductions=(), trip_count=trips
    )


def _block(
    body: Body, loop: For, first: Expr | int, count: int, inner: str
) -> tuple[For, Expr | int]:
    lane = Name(body.name(inner))
    number = lane + first if isinstance(first, int) else first + lane
    statements = (Let(loop.kind, loop.name, number), *loop.body)
    blocks = replace(
        loop, name=lane.name, start=0, stop=count, body=statements, parallel=False, trip_count=None
    )
    return blocks, first


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

    Parameters
    ----------
    body : draws names.
    loop : counts by 1, between known bounds.
    size : iterations of a block.

    Raises
    ------
    IllegalError
        if the size is less than 1, if the loop does not count by 1, from one number that is known
        to another, if these are too few for a block, or if an iteration that runs again loads
        something else then.
    """
    expect_count("block", size)
    numbers = LoopView(loop).bounds
    if numbers is None or numbers.step != 1 or len(numbers) < size:
        raise IllegalError(f"the loop over {loop.name} is not known to fill a block of {size}")
    left = len(numbers) % size
    if not left:
        return [loop]
    reason = expect_repeatable_iterations(LoopView(loop), size - left)
    last = fresh(body, replace(loop, start=numbers.stop - size))
    loops = [replace(loop, stop=numbers.stop - left), last]
    same = {loop.name: Name(loop.name)}
    granted(SameIterations((loop,), tuple(Part((m,), same, same) for m in loops), "again"))
    applied(f"overlap by {size}", reason, loop, loops)
    return loops


def fresh(body: Body, loop: For) -> For:
    """A loop whose iterations have names of their own, so that it may be there beside another."""
    return replace(loop, body=tuple(copied(body, loop.body, {})))
