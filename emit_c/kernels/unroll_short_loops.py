"""Short loops inside of longer ones, written out, so that the longer ones run in vector lanes.

    for i: total = 0; for j < 3: total = total + x[3 * i + j]; y[i] = total

becomes

    for i: total = 0; total = total + x[3 * i + 0]; ... total = total + x[3 * i + 2]; y[i] = total

So is a short nest of loops, as over a window. A short row does not fill the lanes of a vector, and
to put its lanes together takes longer than to fold it; but of many rows each lane can have one.
Where an iteration does too much to be written out more than once, the two loops are interchanged in
blocks of the longer one:

    for i: a = f(i); for j < 3: x[3 * i + j] = g(a, j)

becomes

    for every block of 64: for j < 3: for k: i = block + k; a = f(i); x[3 * i + j] = g(a, j)
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Load, Name
from codegen.loops.work import trip_count, work
from codegen.schedule.unroll import written_out
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    Statement,
    base,
    names_in,
    nested,
    replaced,
    straight,
    values,
)
from codegen.walk import names_of
from emit_c.kernels.outline_math import has_long_functions
from emit_c.kernels.row_starts import distances
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body


def unroll_short_loops(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops over short ones run in lanes, if they all can."""
    # Compilers take their time for each operation, and more than that for each of many.
    if sum(map(_work_inside, statements)) > machine.MOST_WRITTEN:
        return replaced(statements, lambda s: _exchanged(body, s))
    return replaced(statements, lambda s: _without_short_loops(body, s))


def _work_inside(statement: Statement) -> int:
    """The work that short loops do in one iteration of each loop around them."""
    if isinstance(statement, If):
        return sum(map(_work_inside, (*statement.then, *statement.otherwise)))
    if not isinstance(statement, For):
        return 0
    if _is_worth_it(statement):
        return work(replace(s, simd=True) for s in statement.body if isinstance(s, For))
    return sum(map(_work_inside, statement.body))


def _without_short_loops(body: Body, statement: Statement) -> Sequence[Statement] | None:
    if not isinstance(statement, For):
        return None
    if (parts := _distributed(statement)) is not None:
        return [made for part in parts for made in _without_short_loops(body, part) or [part]]
    if not _is_worth_it(statement):
        return None
    written = tuple(made for s in statement.body for made in written_out(body, s))
    return [replace(statement, body=written, simd=True)]


def _distributed(loop: For) -> tuple[For, For] | None:
    """Loop fission: a loop without its short loops of long functions, and a loop of only these.

    None if there are no others, or if they share something. A concatenation is computed by such a
    loop: inside, one loop stores each operand.
    """
    if not loop.parallel:
        return None
    dear = [s for s in loop.body if isinstance(s, For) and _is_short(s) and has_long_functions(s)]
    others = [s for s in loop.body if s not in dear]
    if not dear or all(_is_short(s) for s in others if isinstance(s, For)):
        return None
    inside = [s for s in nested(loop.body) if not isinstance(s, For)]
    written = {base(s.target) for s in inside if isinstance(s, Assign)}
    read = {name for s in inside for tree in values(s) for name in names_of(tree)}
    shared = {s.name for s in others if isinstance(s, Let)}.intersection(names_in(dear))
    plain = all(isinstance(s, For | Assign | Let) for s in loop.body)
    if not plain or shared or not written.isdisjoint(read):
        return None
    return loop.with_body(others), loop.with_body(dear)


def _is_worth_it(loop: For) -> bool:
    """Whether a loop has only short ones inside, and its iterations are independent."""
    inner = [s for s in loop.body if isinstance(s, For)]
    if not inner or not loop.parallel or loop.step != 1:
        return False
    if trip_count(loop) < machine.LANES and not _fills_more_lanes(loop, inner):
        return False
    if not all(map(_is_short, inner)) or all(_copies_far(loop.name, s) for s in loop.body):
        return False
    return straight([s for s in loop.body if not isinstance(s, For)])


def _fills_more_lanes(loop: For, inner: Sequence[For]) -> bool:
    """Whether a loop has more iterations than those inside of it, which compute long functions.

    These take as long for a few lanes as for all.
    """
    return has_long_functions(loop) and trip_count(loop) > max(map(trip_count, inner))


def _is_short(loop: For) -> bool:
    """Whether a perfect nest of loops has few iterations."""
    nest = list(perfect_nest(loop))
    count, innermost = prod(map(trip_count, nest)), nest[-1]
    few = count in (machine.SHORT_FOLDS if innermost.reductions else machine.SHORT_LOOPS)
    return few and all(map(_is_counted, nest)) and straight(innermost.body)


def perfect_nest(loop: For) -> Iterator[For]:
    """The loops of a perfect nest, from the outermost on."""
    yield loop
    inner = loop.body[0] if len(loop.body) == 1 else None
    if isinstance(inner, For):
        yield from perfect_nest(inner)


def _is_counted(loop: For) -> bool:
    return isinstance(loop.start, int) and isinstance(loop.stop, int) and loop.step == 1


def _copies_far(row: str, statement: Statement) -> bool:
    """Whether a statement is a short loop that copies neighbours out of rows that lie far apart.

    They are in one cache line, which is faster to copy at once than in lanes of rows: the first two
    columns of f32[4000,512] take 24 us so, and else 17.
    """
    if not isinstance(statement, For):
        return False
    for each in statement.body:
        if not isinstance(each, Let | Assign) or not isinstance(each.value, Load | Name):
            return False
        if any(n <= machine.LANES for n in distances(row, each.value)):
            return False
    return True


def _exchanged(body: Body, statement: Statement) -> Sequence[Statement] | None:
    """A short loop of much work around blocks of a longer one; None for other statements."""
    if not isinstance(statement, For) or not _can_be_exchanged(statement):
        return None
    loop, (short,) = statement, (s for s in statement.body if isinstance(s, For))
    assert isinstance(loop.stop, int)
    whole = loop.stop - loop.stop % machine.BLOCK_OF_EXCHANGED
    block, lane = body.name(f"{loop.name}_block"), body.name("k")
    number = Let("s64", loop.name, Name(block) + Name(lane))
    others = (s for s in loop.body if s is not short)
    inner = For(lane, machine.BLOCK_OF_EXCHANGED, (number, *others, *short.body), simd=True)
    blocks = For(
        block, whole, (replace(short, body=(inner,), simd=False),), step=machine.BLOCK_OF_EXCHANGED
    )
    blocks = replace(blocks, parallel=True)
    return (blocks, replace(loop, start=whole)) if whole < loop.stop else (blocks,)


def _can_be_exchanged(loop: For) -> bool:
    """Whether a loop has one short one inside, and no iteration of either depends on another."""
    inner = [s for s in loop.body if isinstance(s, For)]
    if len(inner) != 1 or not loop.parallel or not isinstance(loop.stop, int):
        return False
    if (
        (loop.start, loop.step) != (0, 1)
        or loop.stop < machine.BLOCK_OF_EXCHANGED
        or inner[0].reductions
    ):
        return False
    if not isinstance(inner[0].stop, int) or (inner[0].start, inner[0].step) != (0, 1):
        return False
    if trip_count(inner[0]) not in machine.EXCHANGED or not inner[0].parallel | inner[0].simd:
        return False
    return straight([s for s in loop.body if s is not inner[0]]) and straight(inner[0].body)
