"""Expand: a variable of an iteration becomes an element of an array, which all iterations have.

    for i < 8: t = 0; for k < 9: t = t + x[9 * i + k]; y[i] = t

becomes

    ts[8]
    for i < 8: ts[i] = 0; for k < 9: ts[i] = ts[i] + x[9 * i + k]; y[i] = ts[i]

After that, the loop can be distributed over its statements (`fission`), and each part has an order
of its own. (Exo: `expand_dim` and `lift_alloc`; others: scalar expansion.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Load, Name
from codegen.schedule.legality import IllegalError, expect_own_elements
from codegen.schedule.loop import LoopView
from codegen.schedule.trace import applied
from codegen.statements import Assign, For, LocalVariable, renamed, replaced

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import Statement


def expand(body: Body, loop: For) -> tuple[list[LocalVariable], For]:
    """The arrays, and the loop with their elements in place of its variables.

    Loops inside are no longer said to fold into these.

    Raises
    ------
    IllegalError
        if the loop does not count by 1 from 0 to a known number, or if an iteration declares no
        variable, or an array.
    """
    view = LoopView(loop)
    if not view.counts_from_0:
        raise IllegalError(f"the loop over {loop.name} does not count from 0 to a known number")
    own = [s for s in loop.body if isinstance(s, LocalVariable)]
    if not own or any(s.size is not None for s in own):
        raise IllegalError(f"an iteration of the loop over {loop.name} declares no number")
    arrays = {s.name: body.name(s.name) for s in own}
    counter = Name(loop.name)
    elements: dict[str, Expr] = {s: Load(Name(a), counter) for s, a in arrays.items()}
    statements: list[Statement] = []
    for s in replaced(loop.body, lambda s: _without_folds(s, arrays.keys())):
        changed = renamed(s, elements)
        if not isinstance(changed, LocalVariable):
            statements.append(changed)
        elif changed.value is not None:
            statements.append(Assign(elements[changed.name], changed.value))
    declared = [LocalVariable(s.kind, arrays[s.name], None, view.trips) for s in own]
    expanded = replace(loop, body=tuple(statements))
    expect_own_elements(loop, [e for e in elements.values() if isinstance(e, Load)])
    applied("expand", "each iteration has elements of its own", loop, [*declared, expanded])
    return declared, expanded


def _without_folds(statement: Statement, names: Collection[str]) -> Sequence[Statement] | None:
    """A loop that is not said to fold into some variables; None for other statements."""
    if not isinstance(statement, For):
        return None
    reductions = tuple((op, name) for op, name in statement.reductions if name not in names)
    body = replaced(statement.body, lambda s: _without_folds(s, names))
    return [replace(statement, body=body, reductions=reductions)]
