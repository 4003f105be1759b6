"""Legality: which changes of the order of iterations, and of their statements, keep all values.

Each question is asked of dependences alone. The two promises that the author of a loop may have
given are taken as facts: `parallel` says that no iteration depends on another one, `simd` that they
do so through reductions only. No test could find that out where an index is loaded, as in a scatter
with unique indices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.schedule.dependences import distances
from codegen.statements import Assign, Let

if TYPE_CHECKING:
    from collections.abc import Collection

    from codegen.schedule.accesses import MemoryAccess
    from codegen.schedule.loop import LoopView
    from codegen.statements import Statement


class IllegalError(Exception):
    """A transformation would change a value: the loop stays as it was."""


def expect_independent(loop: LoopView) -> None:
    """Raise unless no iteration depends on another one: they may run in any order, or at once.

    What iterations fold is left aside: see `For.reductions`.

    Raises
    ------
    IllegalError
        if two iterations may access one element, and one of them writes it.
    """
    if loop.statement.parallel or loop.statement.simd:
        return
    folds = {name for _, name in loop.statement.reductions}
    found = [each for each in loop.accesses if each.name not in folds]
    for one in found:
        for other in found:
            meeting = _meeting(loop, one, other)
            if meeting and (meeting[0] < 0 or meeting[-1] > 0):
                raise IllegalError(f"{one} and {other} may meet in two iterations")


def expect_distributable(
    loop: LoopView, first: Collection[Statement], again: Collection[Statement] = ()
) -> str:
    """Raise unless all iterations of some statements may run before all of the others.

    So some may when values are loaded ahead of a loop (those that compute the values are the
    first), and when stores wait for its end (all others are).

    Parameters
    ----------
    first : statements of an iteration.
    again : those of them that run once more among the others.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if one of the others is to come before one of the first, as the loop is now, and accesses
        the same element.
    """
    early, repeated = (
        {k for k, s in enumerate(loop.body) if any(s is each for each in some)}
        for some in (first, again)
    )
    has_promise = loop.statement.parallel or loop.statement.simd
    others = [a for a in loop.accesses if a.statement not in early or a.statement in repeated]
    ahead_of_them = [a for a in loop.accesses if a.statement in early]
    for late in others:
        for ahead in ahead_of_them:
            meeting = _meeting(loop, late, ahead)
            if not meeting:
                continue
            if meeting[-1] > 0 and not has_promise:
                raise IllegalError(f"{ahead} may need {late} in an earlier iteration")
            if 0 in meeting and late.statement < ahead.statement:
                raise IllegalError(f"{ahead} may need {late} in the same iteration")
    if has_promise:
        return "the loop promises that no iteration depends on another one"
    stored = sorted({a.name for a in others if a.is_write and a.name not in loop.declared})
    return f"nothing that runs first needs what is stored in {', '.join(stored) or 'no array'}"


def expect_jammable(loop: LoopView, times: int) -> str:
    """Raise unless each statement may run for several iterations before the next statement does.

    Parameters
    ----------
    times : the number of these iterations.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if a statement of an iteration needs a later statement of one that is done with it now, or
        if an iteration chooses or loops.
    """
    if not all(isinstance(s, Let | Assign) for s in loop.body):
        raise IllegalError(f"an iteration of the loop over {loop.name} is no straight code")
    if loop.statement.parallel or loop.statement.simd:
        return "the loop promises that no iteration depends on another one"
    for late in loop.accesses:
        for ahead in loop.accesses:
            meeting = _meeting(loop, late, ahead)
            if not meeting or ahead.statement >= late.statement:
                continue
            if meeting[0] < times and meeting[-1] > 0:
                raise IllegalError(f"{ahead} may need {late} in an earlier iteration")
    return f"none of {times} iterations needs what another one of them stores"


def _meeting(loop: LoopView, one: MemoryAccess, other: MemoryAccess) -> range | None:
    """The distances at which two accesses meet of which one writes."""
    if not one.is_write and not other.is_write:
        return None
    return distances(loop, one, other)
