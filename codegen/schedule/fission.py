"""Fission: a loop becomes two, and what the second needs of the first waits in arrays.

    for k < 64: y[k] = exp(table[x[k]])

becomes the loop that computes some values, and the loop that reads them,

    for k < 64: places[k] = x[k]
    for k < 64: y[k] = exp(table[places[k]])

between which a schedule may put loops of its own. A value of an iteration that becomes an element
of an array is *scalar expansion*. (Exo: `fission` and `expand_dim`; others: loop distribution.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Load, Name
from codegen.printer import shown
from codegen.schedule.legality import IllegalError, expect_distributable, expect_own_elements
from codegen.schedule.loop import LoopView, certain_loads
from codegen.schedule.obligations import Unproved, granted
from codegen.schedule.trace import applied
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    live,
    names_in,
    nested,
    renamed,
    rewritten,
    trees,
)
from codegen.walk import rebuilt, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from codegen.expressions import Expr
    from codegen.statements import Statement


def computed(loop: For, values: Mapping[Load, Expr]) -> For:
    """The first half: a loop that computes values and does nothing else.

    Parameters
    ----------
    values : what is stored in elements of arrays that the loop does not know.

    Raises
    ------
    IllegalError
        if the values may not be computed before all iterations of the loop: see
        `expect_distributable`.
    """
    reason = expect_computable(loop, values)
    expect_own_elements(loop, values)
    needed = LoopView(loop).slice(values.values())
    stores = (Assign(element, value) for element, value in values.items())
    half = replace(loop, body=(*needed, *stores), reductions=(), parallel=False)
    applied("fission, first half", reason, loop, [half])
    return half


def expect_computable(loop: For, values: Mapping[Load, Expr], guards: Collection[If] = ()) -> str:
    """Raise unless values may be computed before all iterations; the reason, where they may.

    Parameters
    ----------
    loop : loads what the values need.
    values : as of `computed`.
    guards : those of the loop that guard the values: see `codegen.schedule.guards`.

    Raises
    ------
    IllegalError
        see `expect_distributable`; or if an element is not loaded in each iteration, as it may lie
        outside of its array.
    """
    certain = set(LoopView(loop).certain_loads)
    for load in (load for value in values.values() for load in certain_loads(value)):
        if load not in certain:
            raise IllegalError(f"{shown(load)} is not loaded in each iteration")
    stores = {e: Assign(e, value) for e, value in values.items()}
    asked = LoopView(replace(loop, body=tuple(_with_stores(loop, values, stores))))
    needed = asked.slice([*values.values(), *(guard.condition for guard in guards)])
    return expect_distributable(asked, [*needed, *guards, *stores.values()])


def _with_stores(
    loop: For, values: Mapping[Load, Expr], stores: Mapping[Load, Assign]
) -> Iterator[Statement]:
    """The iteration, with each store where its value is needed for the last time, or at the end."""
    users = {e: [s for s in loop.body if _contains(s, value)] for e, value in values.items()}
    for s in loop.body:
        yield from (stores[e] for e, uses in users.items() if uses and uses[-1] is s)
        yield s
    yield from (stores[e] for e, uses in users.items() if not uses)


def _contains(statement: Statement, value: Expr) -> bool:
    return any(expr == value for s in nested([statement]) for t in trees(s) for expr in walk(t))


def reading(
    loop: For, values: Mapping[Expr, Load], stores: Mapping[Expr, Load] | None = None
) -> For:
    """The second half: the loop without what it computed of some values, which it reads.

    Parameters
    ----------
    loop : computes the values so far.
    values : the elements of arrays that have them.
    stores : the elements to which it stores what it has stored elsewhere.
    """
    targets = stores or {}

    def change(tree: Expr) -> Expr:
        return values[tree] if tree in values else rebuilt(tree, change)

    half = replace(loop, body=live([_rereading(s, change, targets) for s in loop.body]))
    granted(*(_waiting(element, value) for value, element in {**values, **targets}.items()))
    applied("fission, second half", "the arrays have what it would compute", loop, [half])
    return half


def _waiting(element: Load, value: Expr) -> Unproved:
    return Unproved(f"{shown(element)} is {shown(value)}", "the schedule says so")


def _rereading(
    statement: Statement, change: Callable[[Expr], Expr], stores: Mapping[Expr, Load]
) -> Statement:
    """A statement of other values, which stores to other elements where that is said."""
    match statement:
        case Assign(Load(pointer, index) as target, value):
            place = stores.get(target) or Load(pointer, change(index))
            return Assign(place, change(value))
        case If(condition, then, otherwise):
            sides = (tuple(_rereading(s, change, stores) for s in b) for b in (then, otherwise))
            return If(change(condition), *sides)
        case For(body=body):
            head = rewritten(replace(statement, body=()), change)
            return replace(head, body=tuple(_rereading(s, change, stores) for s in body))
        case _:
            return rewritten(statement, change)


def without(loop: For, *statements: Statement) -> For:
    """The loop without some statements, and without values that nothing needs any more."""
    others = [s for s in loop.body if all(s is not statement for statement in statements)]
    if len(others) + len(statements) != len(loop.body):
        raise IllegalError("a statement is not in the loop")
    return replace(loop, body=live(others))


def fission(
    loop: For,
    first: Collection[Statement],
    again: Collection[Statement],
    waiting: Mapping[str, Load],
) -> tuple[For, For]:
    """Two loops: one that does some statements of each iteration, and one that does the others.

    Parameters
    ----------
    loop : whose statements these are.
    first : the statements of the first loop.
    again : those of them that the second loop does as well, as they are cheap.
    waiting : elements of arrays, by the names of the values of the first that the second reads.

    Raises
    ------
    IllegalError
        if a statement would run too early, or if a value that the second loop reads does not wait.
    """
    reason = expect_distributable(LoopView(loop), first, again)
    repeated = [s for s in loop.body if _is_one_of(s, again)]
    if not all(isinstance(s, Let) for s in repeated):
        raise IllegalError("a statement that changes something can't be done twice")
    early = [s for s in loop.body if _is_one_of(s, first)]
    late = [s for s in loop.body if not _is_one_of(s, first) or _is_one_of(s, again)]
    lost = {s.name for s in early if isinstance(s, Let | LocalVariable)} - waiting.keys()
    lost -= {s.name for s in repeated if isinstance(s, Let)}
    if not lost.isdisjoint(names_in(late)):
        raise IllegalError("a value that the second loop reads does not wait for it")
    expect_own_elements(loop, waiting.values())
    stores = [Assign(element, Name(name)) for name, element in waiting.items()]
    values: dict[str, Expr] = {**waiting}
    folding = replace(loop, body=(*early, *stores), simd=False, reductions=(), parallel=False)
    rest = tuple(renamed(s, values) for s in late)
    last = replace(loop, body=rest, reductions=(), parallel=False)
    applied("fission", reason, loop, [folding, last])
    return folding, last


def _is_one_of(statement: Statement, others: Collection[Statement]) -> bool:
    return any(statement is other for other in others)
