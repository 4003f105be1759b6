"""Unswitch: a loop that chooses alike in all iterations is written once for each side.

    for i < 9: y[i] = c ? f(x[i]) : x[i]

becomes

    if (c) { for i < 9: y[i] = f(x[i]) } else { for i < 9: y[i] = x[i] }

(Exo: `lift_scope`; LLVM: loop unswitching.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Expr
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView, has_loads
from codegen.schedule.obligations import SameValue, granted
from codegen.schedule.trace import applied
from codegen.schedule.unroll import copied
from codegen.statements import For, If, changed_in, live, replaced, rewritten
from codegen.walk import names_of, rebuilt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.statements import Statement


def unswitch(body: Body, loop: For, condition: Expr) -> If:
    """A choice between a loop in which a condition holds, and one in which it does not.

    Parameters
    ----------
    body : draws names.
    loop : has a choice by the condition.
    condition : of choices of the loop; it is no part of another condition.

    Raises
    ------
    IllegalError
        if an iteration may change the condition.
    """
    then, otherwise = decided_loops(loop, condition)
    choice = If(condition, (then,), tuple(copied(body, (otherwise,), {})))
    granted(SameValue(LoopView(loop), condition))
    applied("unswitch", "no iteration changes the condition", loop, [choice])
    return choice


def decided_loops(loop: For, condition: Expr) -> tuple[For, For]:
    """A loop as it is where a condition holds, and as it is where it does not.

    Raises
    ------
    IllegalError
        as of `unswitch`.
    """
    changed = changed_in([loop])
    if has_loads(condition) or not changed.isdisjoint(names_of(condition)):
        raise IllegalError(f"the condition may differ between iterations over {loop.name}")
    return _decided(loop, condition, holds=True), _decided(loop, condition, holds=False)


def _decided(loop: For, condition: Expr, *, holds: bool) -> For:
    def in_tree(tree: Expr) -> Expr:
        if isinstance(tree, Choose) and tree.condition == condition:
            return in_tree(tree.then if holds else tree.otherwise)
        return rebuilt(tree, in_tree)

    def among(statement: Statement) -> Sequence[Statement] | None:
        if not isinstance(statement, If) or statement.condition != condition:
            return None
        return replaced(statement.then if holds else statement.otherwise, among)

    inside = replaced(loop.body, among)
    return replace(loop, body=live([rewritten(s, in_tree) for s in inside]))
