"""Copies of few neighbours out of rows that lie a power of two apart, one number after the other.

    in lanes, for i < 64: y[2 * i] = x[128 * i];  y[2 * i + 1] = x[128 * i + 1]

runs in no lanes. Where rows are a power of two apart, gcc takes two or three numbers of each for a
group of as many as lie between them, loads all of these, and puts together in many steps what is
wanted. The first two columns of f32[4000,512] take 184 us so, and 13 one by one. It does not where
rows are any other distance apart, nor for 4 neighbours, which it loads as one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Group, Index, Literal, Load, Name, Op
from codegen.statements import Assign, For, Forever, If, Let, Statement
from codegen.walk import names_of
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.expressions import Expr


def copy_far_pairs(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes copy no few neighbours out of rows a power of two apart."""
    return tuple(map(_without, statements))


def _without(statement: Statement) -> Statement:
    match statement:
        case For(simd=True):
            return replace(statement, simd=False) if _copies_far_pairs(statement) else statement
        case For() | Forever():
            return statement.with_body(copy_far_pairs(statement.body))
        case If(condition, then, otherwise):
            return If(condition, copy_far_pairs(then), copy_far_pairs(otherwise))
        case _:
            return statement


def _copies_far_pairs(loop: For) -> bool:
    """Whether a loop does nothing but copy, and some that it loads are such neighbours."""
    places = {loop.name}
    groups = Counter[object]()
    for statement in loop.body:
        match statement:
            case Let("s64", name, value) if not _is_load(value):
                places.update([name] if places.intersection(names_of(value)) else [])
            case Let(_, _, value) | Assign(Load(), value) if _is_load(value):
                groups[_row(value, places)] += 1
            case Assign(Load(), Name()):
                pass
            case _:
                return False
    del groups[None]
    return any(1 < count < machine.LOADED_AS_ONE for count in groups.values())


def _is_load(value: Expr) -> bool:
    return isinstance(value, Load) and isinstance(value.pointer, Name)


def _row(load: Expr, places: set[str]) -> object:
    """The common row of some loads; None where rows do not lie a power of two apart."""
    assert isinstance(load, Load)
    factors = _factors(load.index)
    stride = sum(factor for name, factor in factors.items() if name in places)
    is_far = stride >= machine.FAR_APART and not stride & (stride - 1)
    return (load.pointer, *factors.items()) if is_far else None


def _factors(index: Expr) -> dict[str, int]:
    """By how much an index grows with each name; without those of which it is not a multiple."""
    match index:
        case Name(name):
            return {name: 1}
        case Index(number):
            return {atom.text: factor for atom, factor in number.terms}
        case Op("*", (inside, Literal(int(factor)))):
            return {name: each * factor for name, each in _factors(inside).items()}
        case Op("+", (left, right)):
            return {**_factors(left), **_factors(right)}
        case Group(inside):
            return _factors(inside)
        case _:
            return {}
