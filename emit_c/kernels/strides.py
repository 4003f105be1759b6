"""Strides: by how much an index grows with the counter of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Group, Index, Literal, Name, Op
from codegen.walk import names_of
from optimizer.analysis.indexing import Counter

if TYPE_CHECKING:
    from codegen.expressions import Expr


def factor(name: str, index: Expr) -> int | None:
    """By how much an index grows with a counter; None if that differs between iterations."""
    found: int | None = None if name in names_of(index) else 0
    match index:
        case Name():
            found = int(index.name == name)
        case Group(inside):
            found = factor(name, inside)
        case Index(number) if all(isinstance(atom, Counter) for atom, _ in number.terms):
            found = sum(each for atom, each in number.factors if atom == name)
        case Op("+" | "-" as op, (x, y)):
            one, other = factor(name, x), factor(name, y)
            if one is not None and other is not None:
                found = one + other if op == "+" else one - other
        case Op("*", (x, Literal(int(times)))):
            one = factor(name, x)
            found = None if one is None else one * times
        case _:
            pass
    return found


def is_power_of_two(number: int) -> bool:
    """Whether a positive number is a power of two."""
    return number & (number - 1) == 0
