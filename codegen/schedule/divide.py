"""Divide: a loop becomes a loop over blocks of its iterations.

    for i < 90: f(i)

becomes, in blocks of 32,

    for i_block < 64 by 32: for k < 32: i = i_block + k; f(i)
    for k < 26: i = 64 + k; f(i)

(Halide: `split`; Exo: `divide_loop`; MLIR: `tile`. The second loop is the tail, cut off.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Name
from codegen.schedule.legality import IllegalError, expect_repeatable_iterations
from codegen.schedule.loop import LoopView
from codegen.schedule.trace import applied
from codegen.schedule.unroll import copied
from codegen.statements import For, Let

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import Statement

    _Inside = Callable[[For, Expr | int], Iterable[Statement]]


def divide(body: Body, loop: For, size: int, inside: _Inside) -> list[Statement]:
    """A loop in blocks, and the iterations left over as a shorter block of their own.

    Parameters
    ----------
    body : draws names.
    size : iterations of a block. A loop of no more that begins with 0 is one, as it is.
    inside : gives the statements for a block: for the loop over its iterations, which counts from
        0, and for the number of the first one. It is called again for what is left over.

    Raises
    ------
    IllegalError
        if the loop does not count by 1, from one number that is known to another.
    """
    numbers = LoopView(loop).bounds
    if numbers is None or numbers.step != 1:
        raise IllegalError(f"the bounds of the loop over {loop.name} are not known")
    if len(numbers) <= size and numbers.start == 0:
        return list(inside(loop, 0))
    if len(numbers) <= size:
        return list(inside(*_block(body, loop, numbers.start, len(numbers))))
    block, left = Name(body.name(f"{loop.name}_block")), len(numbers) % size
    lane, first = _block(body, loop, block, size)
    whole = numbers.stop - left
    blocks = replace(
        loop, name=block.name, stop=whole, step=size, body=(lane,), simd=False, reductions=()
    )
    tail = [replace(loop, start=whole)] if left else []
    applied(f"divide by {size}", "each iteration is in one block", loop, [blocks, *tail])
    made: list[Statement] = [replace(blocks, body=tuple(inside(lane, first)))]
    if left:
        made += inside(*_block(body, loop, whole, left))
    return made


def _block(body: Body, loop: For, first: Expr | int, count: int) -> tuple[For, Expr | int]:
    lane = Name(body.name("k"))
    number = lane if first == 0 else lane + first
    statements = (Let(loop.kind, loop.name, number), *loop.body)
    made = replace(loop, name=lane.name, start=0, stop=count, body=statements, parallel=False)
    return made, first


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
    applied(f"overlap by {size}", reason, loop, made)
    return made


def fresh(body: Body, loop: For) -> For:
    """A loop whose iterations have names of their own, so that it may be there beside another."""
    return replace(loop, body=tuple(copied(body, loop.body, {})))
