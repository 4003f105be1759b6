"""Copies of a loop's body, for iterations of which it is known which choices they make."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.evaluation import COMPARISONS, evaluated
from codegen.expressions import Expr, Group, Index, Literal, Name, Op, conjoined
from codegen.statements import Assign, For, If, Let, LocalVariable, Statement, base, nested, renamed
from codegen.walk import substitute, walk
from optimizer.analysis import indexing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codegen.elements.body import Body


def written_out(body: Body, statement: Statement) -> Iterator[Statement]:
    """A loop's iterations one after the other, each with names of its own; others as they are.

    So are those of the loops inside.
    """
    if not isinstance(statement, For):
        yield statement
        return
    assert isinstance(statement.start, int)
    assert isinstance(statement.stop, int)
    assert isinstance(statement.step, int)
    for iteration in range(statement.start, statement.stop, statement.step):
        for each in copied(body, statement.body, {statement.name: Literal(iteration)}):
            yield from written_out(body, each)


def copied(
    body: Body,
    statements: Sequence[Statement],
    values: dict[str, Expr],
    known: Mapping[str, Expr] | None = None,
) -> Iterator[Statement]:
    """A copy of statements in which some names have values, and declared names are new.

    Parameters
    ----------
    known : values by which choices are made; else the values of the names.
    """
    for each in _settled(list(_decided(statements, values if known is None else known))):
        if isinstance(each, If):
            sides = (tuple(copied(body, s, {**values}, known)) for s in (each.then, each.otherwise))
            yield If(substitute(each.condition, values), *sides)
        elif isinstance(each, For):
            inside = copied(body, each.body, {**values}, known)
            yield replace(renamed(replace(each, body=()), values), body=tuple(inside))
        else:
            made = renamed(each, values)
            if isinstance(made, Let | LocalVariable):
                name = body.name(made.name)
                values[made.name] = Name(name)
                made = replace(made, name=name)
            yield made


def _decided(statements: Sequence[Statement], known: Mapping[str, Expr]) -> Iterator[Statement]:
    """Statements without the choices that some values of names decide."""
    for statement in statements:
        if not isinstance(statement, If):
            yield statement
            continue
        parts = parts_of(statement.condition)
        truths = [truth(part, known) for part in parts]
        if False in truths:
            yield from _decided(statement.otherwise, known)
        elif None not in truths:
            yield from _decided(statement.then, known)
        else:
            unknown = [part for part, holds in zip(parts, truths, strict=True) if holds is None]
            yield replace(statement, condition=conjoined(unknown))


def _settled(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Statements whose variables are constants where a decided choice left them one value."""
    assigned = [s.target for s in nested(statements) if isinstance(s, Assign)]
    given = Counter(target.name for target in assigned if isinstance(target, Name))
    at_once = {base(s.target) for s in statements if isinstance(s, Assign)}
    kinds = {
        s.name: s.kind
        for s in statements
        if isinstance(s, LocalVariable) and s.value is None and s.size is None
        if given[s.name] == 1 and s.name in at_once
    }
    for s in statements:
        if isinstance(s, Assign) and isinstance(s.target, Name) and base(s.target) in kinds:
            yield Let(kinds[base(s.target)], base(s.target), s.value)
        elif not isinstance(s, LocalVariable) or s.name not in kinds:
            yield s


def parts_of(condition: Expr) -> list[Expr]:
    """The parts of a condition, which all must hold."""
    if any(isinstance(each, Op) and each.op == "||" for each in walk(condition)):
        return [condition]
    parts: list[Expr] = []
    while isinstance(condition, Op) and condition.op == "&&":
        condition, last = condition.args
        parts.insert(0, last)
    return [condition, *parts]


def truth(condition: Expr, known: Mapping[str, Expr]) -> bool | None:
    """Whether a comparison of sums of products holds; None where some values do not tell.

    So it does for all values of a counter up to the next one of its `turns`.
    """
    if not _compares_polynomials(condition):
        return None
    try:
        return bool(evaluated(substitute(condition, known), {}))
    except LookupError:
        return None


def turns(condition: Expr, name: str) -> set[int]:
    """The values of an integer from which on a comparison of a multiple of it holds or fails.

    The difference of both sides is a n + b. For a positive a it is not negative from one value on,
    and positive from that one or the next one on; for a negative a it is so up to a value.
    """
    if not isinstance(condition, Op) or not _compares_polynomials(condition):
        return set()
    try:
        zero, one, two = (_difference(condition, {name: n}) for n in range(3))
    except LookupError:
        return set()
    slope = one - zero
    if two - one != slope or not slope:
        return set()
    near = range(-zero // slope - 1, -zero // slope + 3)
    holds = {n: bool(evaluated(condition, {name: n})) for n in range(near.start - 1, near.stop)}
    return {n for n in near if holds[n - 1] != holds[n]}


def _compares_polynomials(condition: Expr) -> bool:
    """Whether a tree compares sums of products."""
    if not isinstance(condition, Op) or condition.op not in COMPARISONS:
        return False
    return all(map(is_polynomial, condition.args))


def is_polynomial(tree: Expr) -> bool:
    """Whether a tree is a sum of products: nothing in it is divided, masked or converted."""
    for each in walk(tree):
        match each:
            case Literal() | Name() | Group() | Op("+" | "-" | "*"):
                pass
            case Index(total) if all(isinstance(atom, indexing.Counter) for atom, _ in total.terms):
                pass
            case _:
                return False
    return True


def _difference(comparison: Op, values: Mapping[str, int]) -> int:
    first, second = (int(evaluated(side, values)) for side in comparison.args)
    return first - second
