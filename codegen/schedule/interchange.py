"""Interchange: the loop inside of another one becomes the outer one.

    for i < 9: a = x[i]; for j < 3: y[i + 9 * j] = f(a, j)

becomes

    for j < 3: for i < 9: a = x[i]; y[i + 9 * j] = f(a, j)

Values that the outer loop names before the inner one move into it, and so do guards. (Exo:
`reorder_loops`; Halide: `reorder`.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Name
from codegen.schedule.guards import one_loop_inside
from codegen.schedule.legality import IllegalError, expect_interchangeable, expect_repeatable
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.statements import For, names_in

if TYPE_CHECKING:
    from collections.abc import Sequence

if TYPE_CHECKING:
    from codegen.expressions import Expr


def interchange(loop: For) -> For:
    """The loop inside, around the iterations of this one.

    Raises
    ------
    IllegalError
        if the loop has more inside than values, guards and one loop after them, if the bounds of
        that one differ from iteration to iteration, or if two iterations that access the same
        element would come in the other order.
    """
    values, inner = one_loop_inside(loop)
    bounds = names_in([replace(inner, body=(), reductions=())])
    view = LoopView(loop)
    if not (view.varying | view.declared).isdisjoint(bounds):
        raise IllegalError(f"the bounds of the loop over {inner.name} differ for each {loop.name}")
    expect_repeatable(view, values)
    folds = inner.reductions or loop.reductions
    body = replace(inner, body=(*values, *inner.body))
    has_promise = loop.parallel or loop.simd
    interchanged = replace(
        inner,
        body=(replace(loop, body=body.body, reductions=folds, simd=loop.simd and not folds),),
        parallel=has_promise and (inner.parallel or inner.simd),
        simd=False,
        reductions=(),
    )
    reason = expect_interchangeable(loop, body)
    same: dict[str, Expr] = {level.name: Name(level.name) for level in (loop, inner)}
    granted(SameIterations((loop, inner), (Part((inner, loop), same, same),), "once"))
    applied("interchange", reason, loop, [interchanged])
    return interchanged


def reorder(loop: For, names: Sequence[str]) -> For:
    """Loops around each other in another order, by interchanges of neighbours.

    Parameters
    ----------
    names : of the counters, from the outermost on. Loops that are not named stay inside.

    Raises
    ------
    IllegalError
        as of `interchange`; or if there is no loop of a name.
    """
    if not names:
        return loop
    outer = _outermost(loop, names[0])
    if len(names) == 1:
        return outer
    inner = outer.body[-1]
    if not isinstance(inner, For):
        raise IllegalError(f"no loop over {names[1]} is inside of the one over {outer.name}")
    return outer.with_body([*outer.body[:-1], reorder(inner, names[1:])])


def _outermost(loop: For, name: str) -> For:
    """The loops with the one of a name as the outermost, and the others in their order."""
    if loop.name == name:
        return loop
    inner = loop.body[-1]
    if not isinstance(inner, For):
        raise IllegalError(f"there is no loop over {name}")
    return interchange(loop.with_body([*loop.body[:-1], _outermost(inner, name)]))
