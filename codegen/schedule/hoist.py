"""Hoist: the first statements of an iteration, which do the same in each, run once before the loop.

    for i < 9: for k < 64: w[k] = x[7 * k]; for k < 64: y[64 * i + k] = f(i, w[k])

becomes

    for k < 64: w[k] = x[7 * k]
    for i < 9: for k < 64: y[64 * i + k] = f(i, w[k])

(Exo: `lift_scope` and `fission`; others: loop-invariant code motion.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import SameValue, granted
from codegen.schedule.trace import applied
from codegen.statements import Assign, For, Let, base, changed_in, nested, values
from codegen.walk import names_of

if TYPE_CHECKING:
    from codegen.statements import Statement


def hoist(loop: For, count: int) -> list[Statement]:
    """The first statements of an iteration, and the loop without them.

    Parameters
    ----------
    count : the number of these statements.

    Raises
    ------
    IllegalError
        if the loop may have no iteration, if the statements are more than values, stores and loops
        of these, or if something in the loop changes what they need or what they have stored.
    """
    view, first, others = LoopView(loop), loop.body[:count], loop.body[count:]
    if not view.trips:
        raise IllegalError(f"the loop over {loop.name} may have no iteration")
    if not all(isinstance(s, Let | Assign | For) for s in nested(first)):
        raise IllegalError("the statements are not values, stores and loops of these")
    own = {s.name for s in nested(first) if isinstance(s, Let | For)}
    needed = {name for s in nested(first) for tree in values(s) for name in names_of(tree)}
    changed = (needed - own) & {loop.name, *changed_in(loop.body)}
    changed |= {base(s.target) for s in nested(first) if isinstance(s, Assign)} & changed_in(others)
    if changed:
        raise IllegalError(f"{min(changed)} may differ from iteration to iteration")
    for s in nested(first):
        granted(*(SameValue(view, tree, frozenset(own)) for tree in values(s)))
    statements = [*first, loop.with_body(others)]
    applied(f"hoist {count}", "each iteration would store the same there again", loop, statements)
    return statements
