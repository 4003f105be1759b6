"""Conditions that the counter of a loop decides: whether they hold, and from which iteration on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.evaluation import COMPARISONS, evaluated
from codegen.expressions import Group, Index, Literal, Name, Op
from codegen.statements import If, nested
from codegen.walk import names_of, substitute, walk
from optimizer.analysis import indexing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.expressions import Expr
    from codegen.statements import For


def turning_points(loop: For) -> list[int]:
    """The counts from which on a comparison holds or fails that the counter alone decides.

    for i < 8: i < 3 ? a[i] : b[i - 3]         [3]
    """
    conditions = (s.condition for s in nested(loop.body) if isinstance(s, If))
    parts = dict.fromkeys(part for c in conditions for part in parts_of(c))
    decided = [part for part in parts if set(names_of(part)) == {loop.name}]
    turns_found = {n for part in decided for n in turns(part, loop.name)}
    start, stop = loop.start, loop.stop
    return sorted(
        n
        for n in turns_found
        if not (isinstance(start, int) and n <= start) and not (isinstance(stop, int) and n >= stop)
    )


def parts_of(condition: Expr) -> list[Expr]:
    """The parts of a condition, which all must hold."""
    if any(isinstance(expr, Op) and expr.op == "||" for expr in walk(condition)):
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
    for expr in walk(tree):
        match expr:
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
