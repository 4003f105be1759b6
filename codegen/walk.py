"""Walks through expressions: the names in a tree, and trees with other parts.

Trees are shallow, for nearly every value has a name of its own; so these functions recurse.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Expr,
    Group,
    Index,
    Literal,
    Load,
    Member,
    Name,
    Op,
    Struct,
    binary,
)
from optimizer.analysis.indexing import Counter, Quotient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from codegen.callees import Callee
    from optimizer.analysis.indexing import Atom, Sum


def children(expr: Expr) -> tuple[Expr, ...]:
    """The trees directly inside of a tree."""
    find = _CHILDREN.get(type(expr))
    return find(expr) if find else ()


# By type, since all walks through trees ask for them.
_CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Op: attrgetter("args"),
    Apply: attrgetter("args"),
    Load: attrgetter("pointer", "index"),
    Cast: lambda cast: (cast.value,),
    Group: lambda group: (group.inside,),
    Choose: attrgetter("condition", "then", "otherwise"),
    Struct: attrgetter("values"),
    Member: lambda member: (member.pointer,),
}


def walk(expr: Expr) -> Iterator[Expr]:
    """A tree and all trees inside of it, as they are read."""
    stack = [expr]
    while stack:
        current = stack.pop()
        yield current
        if find := _CHILDREN.get(type(current)):
            stack += reversed(find(current))


def names_of(expr: Expr) -> list[str]:
    """The names in a tree, each as often as it occurs there."""
    names: list[str] = []
    _collect(expr, names)
    return names


def _collect(expr: Expr, names: list[str]) -> None:
    kind = type(expr)
    if kind is Name:
        names.append(expr.name)  # type: ignore[union-attr]
    elif kind is Index:
        names += expr.sum.names  # type: ignore[union-attr]
    elif find := _CHILDREN.get(kind):
        for child in find(expr):
            _collect(child, names)


def callees_of(expr: Expr) -> list[Callee]:
    """The functions that a tree applies, each as often as it occurs there."""
    callees: list[Callee] = []
    _collect_callees(expr, callees)
    return callees


def _collect_callees(expr: Expr, callees: list[Callee]) -> None:
    find = _CHILDREN.get(type(expr))
    if find is None:
        return
    if isinstance(expr, Apply):
        callees.append(expr.function)
    for child in find(expr):
        _collect_callees(child, callees)


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """A tree with changed trees directly inside; the same tree if they are all the same."""
    inside = children(expr)
    children_new = tuple(map(change, inside))
    if all(x is y for x, y in zip(children_new, inside, strict=True)):
        return expr
    return _with_children(expr, children_new)


def _with_children(expr: Expr, new_children: tuple[Expr, ...]) -> Expr:
    """A tree of the same kind as another one, of other trees."""
    match expr:
        case Op(op):
            return Op(op, new_children)
        case Apply(function):
            return Apply(function, new_children)
        case Struct(kind):
            return Struct(kind, new_children)
        case Cast(kind):
            return Cast(kind, *new_children)
        case Member(_, name):
            return Member(new_children[0], name)
        case _:
            assert isinstance(expr, Load | Choose | Group)
            return type(expr)(*new_children)


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """A tree with trees instead of names; the same tree if none of the names is in it."""
    kind = type(expr)
    if kind is Name:
        return values.get(expr.name, expr)  # type: ignore[union-attr]
    if kind is Literal:
        return expr
    if isinstance(expr, Index):
        total = expr.sum
        changed = {name: values[name] for name in total.names if name in values}
        if not changed:
            return expr
        known = {name: known for name, value in changed.items() if (known := _known(value)) != ""}
        if len(known) == len(changed):
            substituted = total.substituted(known)
            return Index(substituted) if substituted.terms else Literal(substituted.constant)
        return substitute(spelled_out(total), values)
    return rebuilt(expr, lambda inside: substitute(inside, values))


def _known(value: Expr) -> str | int | Sum:
    """A name, an integer or a sum, to use in index arithmetic; "" for other trees."""
    match value:
        case Index(total):
            return total
        case Name(name):
            return name
        case Literal(int(number), "" | "s64"):
            return number
        case _:
            return ""


def spelled_out(total: Sum, spelled: Expr | None = None) -> Expr:
    """Index arithmetic as operations; added to a pointer or a number, if one is given."""
    begun = spelled is not None
    for atom, factor in total.terms:
        if spelled is None:
            first = _atom(atom)
            first = first if factor > 0 else -first
            spelled = first * abs(factor) if factor != 1 else first
        else:
            product = _atom(atom)
            product = product * abs(factor) if factor != 1 else product
            spelled = binary("+" if factor > 0 else "-", spelled, product)
    if spelled is None:
        return Literal(total.constant)
    if total.constant or (begun and not total.terms):
        return binary("+" if total.constant >= 0 else "-", spelled, abs(total.constant))
    return spelled


def times(value: Expr, factor: int) -> Expr:
    """A multiple of a number."""
    return value if factor == 1 else value * factor


def added(value: Expr, more: Sum) -> Expr:
    """A number and a multiple of a loop's counter."""
    if not more.terms and not more.constant:
        return value
    if value == Literal(0):
        return spelled_out(more)
    return spelled_out(more, value)


def address_of(pointer: Expr, number: Sum) -> Expr:
    """The address of an element of an array, by its number."""
    return spelled_out(number, pointer)


def _atom(atom: Atom) -> Expr:
    if isinstance(atom, Counter):
        return Name(atom.name)
    dividend, divisor = spelled_out(atom.dividend), atom.divisor
    dividend = dividend if isinstance(dividend, Name) else Group(dividend)
    shift, mask = divisor.bit_length() - 1, divisor - 1
    if isinstance(atom, Quotient):
        result = dividend // divisor if divisor & mask else dividend >> shift
    else:
        result = dividend % divisor if divisor & mask else dividend & mask
    return Group(result)
