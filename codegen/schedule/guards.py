"""Guards: conditions of all that follows in an iteration, as `divide` leaves them.

    for k < 32: i = 64 + k; if (i < 90) { y[i] = x[i] }

has one. Here the statements of an iteration are a list, in which a guard is an empty choice before
those that it guards:

    i = 64 + k; if (i < 90) {}; y[i] = x[i]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from codegen.schedule.legality import IllegalError, expect_repeatable
from codegen.schedule.loop import LoopView
from codegen.statements import For, If, Let, names_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.statements import Statement


def is_guard(statement: Statement) -> TypeGuard[If]:
    """Whether a statement of a list is a guard of those after it."""
    return isinstance(statement, If) and not statement.then and not statement.otherwise


def opened(statements: Iterable[Statement]) -> list[Statement]:
    """The statements of an iteration as a list with guards in it."""
    inside = [s for s in statements if not is_guard(s)]
    match inside:
        case [*before, If(condition, then, ())]:
            return [*before, If(condition, ()), *opened(then)]
        case _:
            return inside


def closed(
    statements: Sequence[Statement], inside: tuple[Statement, ...] = ()
) -> tuple[Statement, ...]:
    """The statements of a list, with those in guards that they guard.

    Parameters
    ----------
    inside : more of them, at the end.
    """
    for s in reversed(statements):
        inside = (If(s.condition, inside),) if is_guard(s) else (s, *inside)
    return inside


def one_loop_inside(loop: For) -> tuple[list[Let], For]:
    """The values that an iteration begins with, and the only loop in it.

        for i < 9: a = x[i]; if (a < 3) { for j < 7: y[i + 9 * j] = a }

    The guards between them move into the loop, with the values that are named in these:

        for i < 9: a = x[i]; for j < 7: if (a < 3) { y[i + 9 * j] = a }

    Raises
    ------
    IllegalError
        if an iteration has more than values, guards and one loop, if the bounds of that one are
        computed in a guard, or if it changes what a guard is computed of.
    """
    *before, inner = opened(loop.body) or (None,)
    if not isinstance(inner, For) or not all(isinstance(s, Let) or is_guard(s) for s in before):
        message = f"the loop over {loop.name} is not around one loop, and values and guards before"
        raise IllegalError(message)
    values: list[Let] = []
    for s in before:
        if not isinstance(s, Let):
            break
        values.append(s)
    moved = before[len(values) :]
    own = {s.name for s in moved if isinstance(s, Let)}
    if not own.isdisjoint(names_in([inner.with_body([])])):
        raise IllegalError(f"the bounds of the loop over {inner.name} are computed in a guard")
    expect_repeatable(LoopView(loop.with_body([*before, inner])), moved)
    return values, inner.with_body(closed(moved, inner.body))
