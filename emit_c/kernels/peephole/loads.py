"""Loads before choices, in loops in lanes.

    for j: if (c(j)) y = x[j] else y = n[0];  z[j] = y + x[j]

becomes

    for j: x_j = x[j];  first = n[0];  if (c(j)) y = x_j else y = first;  z[j] = y + x_j

In lanes a load inside of a choice is one under a mask. If the same element is loaded outside as
well, that is one load too many, and compilers may mix up the two addresses until they find no
vector in either. And of a load under a mask that is the same for all lanes they make none at all.
Without this, pair encoding takes 2.3 times as long; seven other programs, whose C changes too, take
as long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Load, Name, is_number
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    Statement,
    base,
    each_side,
    renamed,
    replaced,
)
from codegen.walk import names_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.expressions import Expr


def with_loads_first(loop: For) -> For:
    """A loop in lanes whose choices load nothing that is loaded anyway, or that is always there."""
    choice = next((k for k, s in enumerate(loop.body) if isinstance(s, If)), None)
    if choice is None:
        return loop
    before, after = list(loop.body[:choice]), loop.body[choice:]
    every = list(each_side(after))
    written = {base(s.target) for s in each_side(loop.body) if isinstance(s, Assign)}
    late = {s.name for s in every if isinstance(s, Let | LocalVariable)}
    for statement in every:
        always = statement in after or _is_first(statement)
        if always and isinstance(statement, Let) and _is_load(statement, written | late):
            late.remove(statement.name)
            if not any(_same(statement, other) for other in before):
                before.append(statement)
    loads = [s for s in before if isinstance(s, Let) and _is_load(s, written)]
    return replace(loop, body=(*before, *_without(after, loads)))


def _is_load(statement: Let, changing: set[str]) -> bool:
    """Whether a statement loads an element, and nothing that changes says which."""
    return is_load(statement.value) and changing.isdisjoint(names_of(statement.value))


def is_load(value: Expr) -> bool:
    """Whether a tree is an element of an array, and loads nothing to know which."""
    if not isinstance(value, Load) or not isinstance(value.pointer, Name):
        return False
    return not any(isinstance(expr, Load) for expr in walk(value.index))


def _same(let: Let, other: Statement) -> bool:
    return isinstance(other, Let) and (other.kind, other.value) == (let.kind, let.value)


def _is_first(statement: Statement) -> bool:
    """Whether a statement loads the first element of an array, which is always there."""
    value = statement.value if isinstance(statement, Let) else None
    return isinstance(value, Load) and is_number(value.index, 0)


def _without(statements: Sequence[Statement], loads: Sequence[Let]) -> Iterator[Statement]:
    """Statements without repeated loads: they use the name of the first load instead."""
    known = {(s.kind, s.value): s.name for s in reversed(loads)}
    names: dict[str, Expr] = {}
    for statement in each_side(statements):
        if isinstance(statement, Let) and (statement.kind, statement.value) in known:
            names[statement.name] = Name(known[statement.kind, statement.value])
    others = replaced(statements, lambda s: [] if isinstance(s, Let) and s.name in names else None)
    return (renamed(s, names) for s in others)
