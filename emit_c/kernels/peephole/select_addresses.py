"""Choices between elements of one array, in loops in lanes, made between addresses before the loop.

    for i: for j in lanes: s = s + (i < 126 ? x[n * i + j + 2 * n] : x[n * i + j - 126 * n])

becomes

    for i: offset = i < 126 ? 2 * n : -126 * n; for j in lanes: s = s + x[n * i + j + offset]

Lanes compute both sides of a choice, and load each under a mask. Where all iterations choose alike,
one address is enough. An array that is rolled along any dimension but its last chooses like this,
as it is put together of two slices of itself. Without this, the scores of skip-gram (a sum of
products with rolled rows) take 1.3 times as long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Index, Load, Name, indexed, item
from codegen.statements import Assign, If, Let, LocalVariable, changed_in, in_lanes
from codegen.walk import names_of
from optimizer.analysis.indexing import Sum, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.kinds import Kind
    from codegen.statements import For, Statement


def select_addresses(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes load from a chosen address, not a chosen element."""
    return in_lanes(statements, lambda loop: _AddressedLoop(body, loop).statements())


class _AddressedLoop:
    """A loop in lanes, and the offsets that are chosen before it."""

    def __init__(self, body: Body, loop: For) -> None:
        self.body, self.loop = body, loop
        self.inside = changed_in([loop])
        self.offsets: list[Let] = []

    def statements(self) -> Sequence[Statement] | None:
        """The offsets and the loop; None if it chooses no address."""
        addressed = self._addressed(self.loop.body)
        return (*self.offsets, replace(self.loop, body=addressed)) if self.offsets else None

    def _addressed(self, statements: Sequence[Statement]) -> tuple[Statement, ...]:
        """Statements with a load in place of each choice between two."""
        rewritten: list[Statement] = []
        for statement in statements:
            if not isinstance(statement, If):
                rewritten.append(statement)
                continue
            sides = map(self._addressed, (statement.then, statement.otherwise))
            choice = statement.with_blocks(*sides)
            declared = rewritten[-1] if rewritten else None
            load = self._load(choice, declared) if isinstance(declared, LocalVariable) else None
            if load:
                rewritten[-1] = load
            else:
                rewritten.append(choice)
        return tuple(rewritten)

    def _load(self, choice: If, declared: LocalVariable) -> Let | None:
        """The value that a choice gives a variable, from a chosen address; None if it can't be."""
        if not self.inside.isdisjoint(names_of(choice.condition)):
            return None
        match _set(choice.then), _set(choice.otherwise):
            case (name, kind, Load(Name(array), first)), (other, _, Load(Name(same), second)):
                if (name, array) != (other, same) or name != declared.name or array in self.inside:
                    return None
            case _:
                return None
        x, y = _number(first), _number(second)
        if x is None or y is None:
            return None
        common = Sum(0, tuple(term for term in x.terms if term in y.terms))
        rest = x + common * -1, y + common * -1
        if not self.inside.isdisjoint((*rest[0].names, *rest[1].names)):
            return None
        offset = self.body.name("offset")
        self.offsets.append(Let("s64", offset, Choose(choice.condition, *map(indexed, rest))))
        bounds = min(r.low for r in rest), max(r.high for r in rest)
        return Let(kind, name, item(Name(array), common + unknown(offset, *bounds)))


def _set(side: Sequence[Statement]) -> tuple[str, Kind, Expr] | None:
    """The variable, the type and the element, of statements that only load one."""
    match side:
        case (Let(kind, name, Load() as element), Assign(Name(variable), Name(value))):
            return (variable, kind, element) if value == name else None
        case _:
            return None


def _number(index: Expr) -> Sum | None:
    """An index as a sum; None if it is computed in another way."""
    match index:
        case Index(number):
            return number
        case Name(name):
            return unknown(name, 0, 1 << 62)
        case _:
            return None
