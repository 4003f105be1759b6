"""Legality: which changes of the order of iterations, and of their statements, keep all values.

Each question is asked of dependences alone. The two promises that the author of a loop may have
given are taken as facts: `parallel` says that no iteration depends on another one, `simd` that they
do so through reductions only. No test could find that out where an index is loaded, as in a scatter
with unique indices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.schedule.dependences import distances
from codegen.schedule.loop import LoopView
from codegen.statements import (
    Assign,
    Break,
    For,
    Forever,
    Let,
    LocalVariable,
    Try,
    base,
    names_in,
    nested,
    values,
)
from codegen.walk import names_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from codegen.schedule.accesses import MemoryAccess
    from codegen.statements import Statement


class IllegalError(Exception):
    """A transformation would change a value: the loop stays as it was."""


def expect_independent(loop: LoopView) -> str:
    """Raise unless no iteration depends on another one: they may run in any order, or at once.

    What iterations fold is left aside: see `For.reductions`.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if two iterations may access one element, and one of them writes it.
    """
    _expect_all_run(loop)
    if loop.statement.parallel or loop.statement.simd:
        return _PROMISED
    folds = {name for _, name in loop.statement.reductions}
    outside = [each for each in loop.accesses if each.name not in folds]
    for one in outside:
        for other in outside:
            meeting = _meeting(loop, one, other)
            if meeting and (meeting[0] < 0 or meeting[-1] > 0):
                raise IllegalError(f"{one} and {other} may meet in two iterations")
    return "no two iterations access one element that one of them stores"


_PROMISED = "the loop promises that no iteration depends on another one"


def _expect_all_run(loop: LoopView) -> None:
    """Raise if an iteration may be the last one, or may not end."""
    if any(isinstance(s, Break | Forever | Try) for s in loop.every):
        raise IllegalError(f"an iteration of the loop over {loop.name} may be the last one")


def expect_interchangeable(outer: LoopView, swapped: LoopView) -> str:
    """Raise unless a loop that is only around another one may be inside of it.

    Parameters
    ----------
    swapped : the inner loop, around the outer one.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if an access in a later iteration of one loop and an earlier one of the other may meet
        another access, of which one writes.
    """
    _expect_all_run(outer)
    if outer.statement.parallel or outer.statement.simd:
        return _PROMISED
    inner = outer.body[0]
    folds = {*outer.statement.reductions, *getattr(inner, "reductions", ())}
    if any(op == "first" for op, _ in folds):
        raise IllegalError("the first of equal numbers is found in the order of the iterations")
    names = {name for _, name in folds}
    # The same accesses in the same order: the body is the same.
    for one, again in zip(outer.accesses, swapped.accesses, strict=True):
        for other, second in zip(outer.accesses, swapped.accesses, strict=True):
            if one.name in names or not (one.is_write or other.is_write):
                continue
            outside, inside = distances(outer, one, other), distances(swapped, again, second)
            if outside and inside and outside[-1] > 0 and inside[0] < 0:
                raise IllegalError(f"{other} may need {one} in an earlier iteration")
    return "accesses to one element stay in their order"


def expect_repeatable(loop: LoopView, values: Collection[Statement]) -> None:
    """Raise unless values may be computed again, anywhere later in the same iteration.

    Raises
    ------
    IllegalError
        if the iteration writes what one of them is computed of.
    """
    asked = {k for k, s in enumerate(loop.body) if any(s is each for each in values)}
    for one in (a for a in loop.accesses if a.statement in asked):
        for other in (a for a in loop.accesses if a.is_write):
            meeting = distances(loop, one, other)
            if meeting and 0 in meeting:
                raise IllegalError(f"{one} may see {other} when it is repeated")


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
        return _PROMISED
    stored = sorted({a.name for a in others if a.is_write and a.name not in loop.declared})
    return f"nothing that runs first needs what is stored in {', '.join(stored) or 'no array'}"


def expect_only_folded(loop: LoopView, names: Collection[str]) -> str:
    """Raise unless nothing reads some variables, or arrays, but the statements that change them.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if an iteration reads what the iterations before it have folded.
    """
    for s in loop.every:
        is_fold = isinstance(s, Assign) and base(s.target) in names
        read = [] if is_fold else [n for tree in values(s) for n in names_of(tree) if n in names]
        if read:
            raise IllegalError(f"an iteration reads {read[0]} before all is folded")
    return "the numbers may be folded in any order, and nothing reads the result before its end"


def expect_repeatable_iterations(loop: LoopView, count: int) -> str:
    """Raise unless so many iterations in turn may run once more, after the last of them.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if an iteration folds, chooses or loops, or if it loads what it, or one of those after it,
        stores later.
    """
    if loop.statement.reductions:
        raise IllegalError(f"the loop over {loop.name} folds, and would fold some numbers twice")
    if not all(isinstance(s, Let | Assign) for s in loop.body):
        raise IllegalError(f"an iteration of the loop over {loop.name} is no straight code")
    stores = [a for a in loop.accesses if a.is_write and a.name not in loop.declared]
    loads = [a for a in loop.accesses if not a.is_write]
    for load in loads:
        for store in stores:
            meeting = distances(loop, load, store)
            first = 0 if load.statement <= store.statement else 1
            if meeting and meeting[0] < count and meeting[-1] >= first:
                raise IllegalError(f"{load} may see {store} when it is repeated")
    return "no iteration loads what is stored before it runs again"


def expect_jammable(loop: LoopView, times: int) -> str:
    """Raise unless each statement may run for several iterations before the next statement does.

    Of a loop inside, each iteration runs for all of them before its next one.

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
        if an iteration chooses, or loops how often no other one does.
    """
    _expect_same_turns(loop)
    if loop.statement.parallel or loop.statement.simd:
        return _PROMISED
    _expect_turns_kept(loop, times, range(len(loop.body)))
    return f"none of {times} iterations needs what another one of them stores"


def _expect_same_turns(loop: LoopView) -> None:
    """Raise unless all iterations do the same statements, and their loops the same iterations."""
    for s in nested(loop.body):
        if not isinstance(s, Let | Assign | LocalVariable | For):
            raise IllegalError(f"an iteration of the loop over {loop.name} is no straight code")
        bounds = names_in([replace(s, body=(), reductions=())]) if isinstance(s, For) else ()
        if isinstance(s, For) and not loop.varying.isdisjoint(bounds):
            raise IllegalError(f"the bounds of the loop over {s.name} differ for each {loop.name}")


def _expect_turns_kept(loop: LoopView, times: int, numbers: range) -> None:
    """Raise unless some statements see the same if each runs for several iterations at once.

    Parameters
    ----------
    numbers : of the statements. Those of a loop inside do so at each iteration of that one.
    """
    asked = [a for a in loop.accesses if a.statement in numbers]
    for late in asked:
        for ahead in asked:
            if _is_soon(_meeting(loop, late, ahead), times) and ahead.statement < late.statement:
                raise IllegalError(f"{ahead} may need {late} in an earlier iteration")
    for n in numbers:
        inner = loop.body[n]
        if isinstance(inner, For):
            flat = loop.statement.with_body((*loop.body[:n], *inner.body, *loop.body[n + 1 :]))
            inside, swapped = LoopView(flat), LoopView(inner.with_body([flat]))
            among = range(n, n + len(inner.body))
            # The same accesses in the same order, after those of the bounds.
            again = [
                turn
                for turn, a in zip(
                    reversed(swapped.accesses), reversed(inside.accesses), strict=False
                )
                if a.statement in among
            ]
            here = reversed([a for a in asked if a.statement == n])
            _expect_inner_turns_kept(loop, swapped, list(zip(here, again, strict=False)), times)
            _expect_turns_kept(inside, times, among)


def _expect_inner_turns_kept(
    loop: LoopView,
    swapped: LoopView,
    accesses: Sequence[tuple[MemoryAccess, MemoryAccess]],
    times: int,
) -> None:
    """Raise if an access in a later iteration comes earlier in those of a loop inside.

    Parameters
    ----------
    accesses : those in the loop inside, each in the loop and in `swapped`, where that is outside.
    """
    for one, again in accesses:
        for other, second in accesses:
            if _is_soon(_meeting(loop, one, other), times):
                turns = distances(swapped, again, second)
                if turns and turns[0] < 0:
                    raise IllegalError(f"{other} may need {one} in an earlier iteration")


def _is_soon(meeting: range | None, times: int) -> bool:
    """Whether an access may meet another one less than so many iterations later."""
    return meeting is not None and meeting[0] < times and meeting[-1] > 0


def _meeting(loop: LoopView, one: MemoryAccess, other: MemoryAccess) -> range | None:
    """The distances at which two accesses meet of which one writes."""
    if not one.is_write and not other.is_write:
        return None
    return distances(loop, one, other)
