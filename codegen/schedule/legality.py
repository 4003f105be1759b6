"""Legality: which changes of the order of iterations, and of their statements, keep all values.

Dependences alone decide. The two promises that the author of a loop may give are taken as facts:
`parallel` says that no iteration depends on another one, `simd` that iterations depend on each
other through reductions only. No dependence test can tell this of an index that is loaded, as in a
scatter with unique indices.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from codegen.schedule.accesses import accesses
from codegen.schedule.dependences import distances
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import AccessDistance, granted, is_heard
from codegen.statements import (
    Assign,
    Break,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Try,
    base,
    blocks,
    names_in,
    nested,
    values,
)
from codegen.walk import names_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from codegen.expressions import Load
    from codegen.schedule.accesses import MemoryAccess
    from codegen.statements import Statement


class IllegalError(Exception):
    """A transformation would change a value: the loop stays as it was."""


def expect_independent(loop: LoopView) -> str:
    """Raise unless no iteration depends on another one: they may run in any order, or at once.

    Reductions do not count as dependences: see `For.reductions`.

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
    folds = {name for _, name in loop.statement.reductions}
    outside = [access for access in loop.accesses if access.name not in folds]
    if loop.statement.parallel or loop.statement.simd:
        return _promised(loop, outside, outside)
    for one in outside:
        for other in outside:
            meeting = _meeting(loop, one, other)
            if meeting and (meeting[0] < 0 or meeting[-1] > 0):
                raise IllegalError(f"{one} and {other} may meet in two iterations")
    return "no two iterations access one element that one of them stores"


def _promised(loop: LoopView, ones: Sequence[MemoryAccess], others: Sequence[MemoryAccess]) -> str:
    """The reason where the author of a loop has said that accesses meet in one iteration only."""
    if is_heard():
        for one, other in product(ones, others):
            if one.name == other.name not in loop.declared and (one.is_write or other.is_write):
                granted(AccessDistance(loop, one, other, range(1), is_promised=True))
    return "the loop promises that no iteration depends on another one"


def _expect_all_run(loop: LoopView) -> None:
    """Raise if an iteration may be the last one; or may not end, unless others need not wait."""
    expect_no_break(loop.statement)
    ends = Try if loop.statement.parallel else Break | Forever | Try
    if any(isinstance(s, ends) for s in loop.every):
        raise IllegalError(f"an iteration of the loop over {loop.name} may be the last one")


def expect_count(what: str, number: object) -> None:
    """Raise unless a number of iterations is a whole number, of at least 1.

    Raises
    ------
    IllegalError
        if it is not.
    """
    if not isinstance(number, int) or number < 1:
        raise IllegalError(f"there is no {what} of {number} iterations")


def expect_no_break(loop: For) -> None:
    """Raise if an iteration may leave the loop: it would leave only a part of what comes of it.

    Raises
    ------
    IllegalError
        if a `Break` is in an iteration, and in no loop inside.
    """
    if _may_leave(loop.body):
        raise IllegalError(f"an iteration of the loop over {loop.name} may be the last one")


def _may_leave(statements: Sequence[Statement]) -> bool:
    return any(
        isinstance(s, Break) or (isinstance(s, If) and any(map(_may_leave, blocks(s))))
        for s in statements
    )


def expect_interchangeable(loop: For, inner: For) -> str:
    """Raise unless a loop may be inside of the one that is all of its body.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if two accesses of which one writes may meet, where one is in a later iteration of one
        loop and in an earlier iteration of the other.
    """
    outer = LoopView(replace(loop, body=(inner,)))
    _expect_all_run(outer)
    folds = {*loop.reductions, *inner.reductions}
    names = {name for _, name in folds}
    if loop.parallel or loop.simd:
        inside = [a for a in outer.accesses if a.name not in names]
        return _promised(outer, inside, inside)
    if any(op == "first" for op, _ in folds):
        raise IllegalError("the first of equal numbers is found in the order of the iterations")
    swapped = LoopView(inner.with_body([loop.with_body(inner.body)]))
    asked = [a for a in accesses(inner.body) if a.name not in names]
    for one in asked:
        for other in asked:
            now = _meeting(outer, one.within(inner), other.within(inner))
            then = _meeting(swapped, one.within(loop), other.within(loop))
            if now and then and now[-1] > 0 and then[0] < 0:
                raise IllegalError(f"{other} may need {one} in an earlier iteration")
    return "accesses to one element stay in their order"


def expect_repeatable(loop: LoopView, values: Collection[Statement]) -> None:
    """Raise unless values may be computed again, anywhere later in the same iteration.

    Raises
    ------
    IllegalError
        if the iteration writes to a variable or an element that one of the values is computed of.
    """
    asked = {k for k, s in enumerate(loop.body) if any(s is value for value in values)}
    for one in (a for a in loop.accesses if a.statement in asked):
        for other in (a for a in loop.accesses if a.is_write):
            meeting = distances(loop, one, other)
            if meeting and 0 in meeting:
                raise IllegalError(f"{one} may see {other} when it is repeated")


def expect_distributable(
    loop: LoopView, first: Collection[Statement], again: Collection[Statement] = ()
) -> str:
    """Raise unless a loop may be two: a loop over some statements, then one over the others.

    A loop that loads values ahead has the statements that compute these in the first loop; a loop
    whose stores wait for its end has the stores in the second one.

    Parameters
    ----------
    loop : as it is before.
    first : the statements of the first loop.
    again : the statements of the first loop that the second one repeats.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if a statement of the second loop runs before one of the first loop now, and both access
        one element, or one variable, that one of them writes.
    """
    expect_no_break(loop.statement)
    early, repeated = (
        {k for k, s in enumerate(loop.body) if any(s is statement for statement in some)}
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
        return _promised(loop, others, ahead_of_them)
    stored = sorted({a.name for a in others if a.is_write and a.name not in loop.declared})
    return f"nothing that runs first needs what is stored in {', '.join(stored) or 'no array'}"


def expect_own_elements(loop: For, elements: Collection[Load]) -> None:
    """Raise unless each iteration has elements of its own, in which values of it may wait.

    Raises
    ------
    IllegalError
        if a later iteration may store there before the value is read.
    """
    for element in elements:
        store = accesses((Assign(element, element),))[-1]
        if (distances(LoopView(loop), store, store) or range(1)) != range(1):
            raise IllegalError(f"{store} in two iterations may be to one element")


def expect_only_folded(loop: LoopView, names: Collection[str]) -> str:
    """Raise unless only the statements that change some variables, or arrays, read them.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if an iteration reads a partial result of the fold.
    """
    for s in loop.every:
        is_fold = isinstance(s, Assign) and base(s.target) in names
        read = [] if is_fold else [n for tree in values(s) for n in names_of(tree) if n in names]
        if read:
            raise IllegalError(f"an iteration reads {read[0]} before all is folded")
    return "the numbers may be folded in any order, and nothing reads the result before its end"


def expect_only_stores(loop: LoopView) -> None:
    """Raise unless an iteration, whose stores are left out, may run again, also at the same time.

    What it loads may be what others have stored, but not where it loads.

    Raises
    ------
    IllegalError
        if an iteration folds, calls functions for their effect, or loads at an index that is
        computed of what it may store.
    """
    if loop.statement.reductions:
        raise IllegalError(f"the loop over {loop.name} folds, and would fold some numbers twice")
    if any(isinstance(s, Forever | Try) for s in nested(loop.body)):
        raise IllegalError(f"an iteration of the loop over {loop.name} may do more than store")
    unknown, before = loop.written - loop.declared, -1
    while len(unknown) > before:
        before = len(unknown)
        for s in nested(loop.body):
            if isinstance(s, Let | LocalVariable | Assign) and unknown.intersection(names_in([s])):
                unknown.add(base(s.target) if isinstance(s, Assign) else s.name)
    for each in loop.accesses:
        if each.index is not None and not unknown.isdisjoint(names_of(each.index)):
            raise IllegalError(f"{each} may be at another index, once elements are stored")


def expect_repeatable_iterations(loop: LoopView, count: int) -> str:
    """Raise unless iterations in turn may run a second time, after the last of them.

    Parameters
    ----------
    count : the number of these iterations.

    Returns
    -------
    str
        the reason.

    Raises
    ------
    IllegalError
        if an iteration folds, chooses or loops, or if it loads an element that it stores later, or
        that one of the next iterations stores.
    """
    if loop.statement.reductions:
        raise IllegalError(f"the loop over {loop.name} folds, and would fold some numbers twice")
    if not all(isinstance(s, Let | Assign) for s in loop.body):
        raise IllegalError(f"the loop over {loop.name} has more inside than values and stores")
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

    A loop inside runs each of its iterations for all of these before its next one.

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
        if a statement depends on a later statement of an earlier iteration, if an iteration
        chooses, or if the bounds of a loop inside differ from iteration to iteration.
    """
    _expect_same_statements(loop)
    if loop.statement.parallel or loop.statement.simd:
        return _promised(loop, loop.accesses, loop.accesses)
    _expect_order_kept(loop, times, range(len(loop.body)))
    return f"none of {times} iterations needs what another one of them stores"


def _expect_same_statements(loop: LoopView) -> None:
    """Raise unless all iterations do the same statements, and their loops the same iterations."""
    for s in nested(loop.body):
        if not isinstance(s, Let | Assign | LocalVariable | For):
            raise IllegalError(f"a branch is inside of the loop over {loop.name}")
        bounds = names_in([replace(s, body=(), reductions=())]) if isinstance(s, For) else ()
        if isinstance(s, For) and not loop.varying.isdisjoint(bounds):
            raise IllegalError(f"the bounds of the loop over {s.name} differ for each {loop.name}")


def _expect_order_kept(loop: LoopView, times: int, statements: range) -> None:
    """Raise unless some statements may each run for several iterations before the next one does.

    A loop among them does each of its iterations for all of these before its next one.

    Parameters
    ----------
    statements : their numbers in the body of the loop.
    """
    asked = [a for a in loop.accesses if a.statement in statements]
    for one in asked:
        for other in asked:
            if _may_meet_within(loop, one, other, times) and other.statement < one.statement:
                raise IllegalError(f"{other} may need {one} in an earlier iteration")
    for n in statements:
        inner = loop.body[n]
        if isinstance(inner, For):
            _expect_inner_order_kept(loop, times, n, inner)


def _expect_inner_order_kept(loop: LoopView, times: int, n: int, inner: For) -> None:
    """Raise unless a loop inside may do each of its iterations for several iterations at once.

    These run in the order that an interchange of the two loops gives them.

    Parameters
    ----------
    n : the number of the loop inside, in the body of the loop.
    """
    flat = loop.statement.with_body((*loop.body[:n], *inner.body, *loop.body[n + 1 :]))
    swapped = LoopView(inner.with_body([flat]))
    asked = accesses(inner.body)
    for one in asked:
        for other in asked:
            if _may_meet_within(loop, one.within(inner), other.within(inner), times):
                meeting = distances(swapped, one.within(flat), other.within(flat))
                if meeting and meeting[0] < 0:
                    raise IllegalError(f"{other} may need {one} in an earlier iteration")
    _expect_order_kept(LoopView(flat), times, range(n, n + len(inner.body)))


def _may_meet_within(loop: LoopView, one: MemoryAccess, other: MemoryAccess, times: int) -> bool:
    """Whether an access may meet another one of an iteration that is less than `times` later."""
    meeting = _meeting(loop, one, other)
    return meeting is not None and meeting[0] < times and meeting[-1] > 0


def _meeting(loop: LoopView, one: MemoryAccess, other: MemoryAccess) -> range | None:
    """The distances at which two accesses may meet; None if they never do, or if both read."""
    if not one.is_write and not other.is_write:
        return None
    return distances(loop, one, other)
