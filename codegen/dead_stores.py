"""Dead-store elimination: a kernel does not store arrays that nobody reads.

A sort of keys and numbers has both as results, and after an argsort only the numbers are read. An
array that a kernel reads too, as one in which it works, is stored all the same.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from codegen.expressions import Apply
from codegen.statements import (
    Assign,
    Call,
    Let,
    LocalVariable,
    Statement,
    base,
    names_in,
    nested,
    replaced,
)
from codegen.walk import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from codegen.expressions import Expr


def only_stored(kernel: Iterable[Statement], arrays: Collection[str]) -> set[str]:
    """The arrays, of some, that a kernel stores to and does nothing else with."""
    statements = tuple(kernel)
    named = Counter(names_in(statements))
    stores = Counter(base(s.target) for s in nested(statements) if isinstance(s, Assign))
    return {array for array in arrays if stores[array] == named[array]}


def without_stores(statements: Sequence[Statement], arrays: Collection[str]) -> Sequence[Statement]:
    """Statements without stores to some arrays, and without values that only these needed.

    A call of a function stays, though nobody reads its value: it may do more than compute it.
    """
    unread: set[str] = set()
    dead = [s for s in nested(statements) if isinstance(s, Assign) and base(s.target) in arrays]
    while dead:
        gone = set(map(id, dead))
        statements = replaced(statements, lambda s, gone=gone: () if id(s) in gone else None)
        lost = set(names_in(dead)).difference(names_in(statements))
        unread |= lost
        dead = [
            s for s in nested(statements)
            if isinstance(s, Let) and s.name in lost and not _calls(s.value)
        ]  # fmt: skip
    if not unread:
        return statements
    return replaced(statements, lambda s: _only_called(s, unread))


def _only_called(statement: Statement, unread: Collection[str]) -> tuple[Statement, ...] | None:
    """The call that gives a variable its value, if nobody reads this; None for others."""
    match statement:
        case LocalVariable(_, name, Apply(function, args), None, work) if name in unread:
            return (Call(function, args, work),)
        case _:
            return None


def _calls(tree: Expr) -> bool:
    return any(isinstance(expr, Apply) for expr in walk(tree))
