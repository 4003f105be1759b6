"""Reciprocals without a branch each: elements of a vector share one.

    for v < 4: y[v] = 1 / x[v]    =>    f32 step = 0;
                                        for v < 4: y[v] = quick_reciprocal_f32(x[v], step)
                                        if (!(step < 0x1p-10)) for v < 4: y[v] = 1 / x[v]

A division takes few instructions but near the ends of the range, for which the compiler has a
branch after each. Here a loop notes that it met such a number, and then runs again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.expressions import Apply, Literal, Name, Op, apply, negated
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    base,
    names_in,
    nested,
    replaced,
    rewritten,
    trees,
)
from codegen.walk import rebuilt, walk
from hlo.types.element_type import F32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.names import Names
    from codegen.expressions import Expr
    from codegen.statements import Statement


# A step of Newton's method from the hardware's reciprocal, of 23 bits, is smaller by far.
SMALL = 2.0**-10


def with_retries(statements: Sequence[Statement], names: Names) -> tuple[Statement, ...]:
    """Statements whose loops over neighbours share the branch of their reciprocals.

    Parameters
    ----------
    names : those of the kernel, for more of them.
    """
    local = {s.name for s in nested(statements) if isinstance(s, LocalVariable)}

    def change(statement: Statement) -> Sequence[Statement] | None:
        if not isinstance(statement, For) or not _has_reciprocals(statement):
            return None
        twice = _may_run_again(statement, local)
        return _twice(statement, names.unique("step")) if twice else None

    return replaced(statements, change)


def _has_reciprocals(loop: For) -> bool:
    values = (part for s in loop.body for tree in trees(s) for part in walk(tree))
    return loop.unroll and any(map(is_reciprocal, values))


def is_reciprocal(tree: Expr) -> bool:
    """Whether a tree is the quotient of 1 and an f32."""
    match tree:
        case Op("/", (Literal(1, "f32"), _)):
            return True
        case _:
            return False


def _may_run_again(loop: For, local: set[str]) -> bool:
    """Whether all that a loop changes are elements of local arrays, which it does not read."""
    if not all(isinstance(s, Let | Assign) for s in loop.body):
        return False
    changed = [base(s.target) for s in loop.body if isinstance(s, Assign)]
    mentioned = names_in(loop.body)
    return all(name in local and mentioned.count(name) == changed.count(name) for name in changed)


def _twice(loop: For, name: str) -> list[Statement]:
    step = Name(name)

    def quick(tree: Expr) -> Expr:
        rebuilt_tree = rebuilt(tree, quick)
        if isinstance(rebuilt_tree, Op) and is_reciprocal(rebuilt_tree):
            return Apply(FUNCTIONS["quick_reciprocal", F32], (rebuilt_tree.args[1], step))
        return rebuilt_tree

    is_small = Op("<", (step, Literal(SMALL, "f32")))
    unfit = apply(BUILTINS["expect"], negated(is_small), 0)
    first = loop.with_body(rewritten(s, quick) for s in loop.body)
    return [LocalVariable("f32", name, Literal(0.0, "f32")), first, If(unfit, (loop,))]
