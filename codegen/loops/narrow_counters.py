"""Counters that are divided and compared in 32 bits, in loops that run in vector lanes.

    for i < 49: y[i] = x[i / 7];  if (n + i - 1 >= 0) z[i] = x[n + i - 1]

becomes

    for i < 49: y[i] = x[(s64)((s32)i / 7)];  if ((s32)(n + i - 1) >= 0) z[i] = x[n + i - 1]

A compiler divides by a constant through the high half of a product. Vector instructions give that
half for 32 bits, but not for 64, so a loop with a division of 64 bits is not vectorized. And a mask
out of a comparison of 64 bits is one of few lanes, too few for numbers of fewer bits. An index that
lies within 31 bits fits into 32. Divisions by powers of two are shifts and masks.

Without the divisions, the random walks of `benchmarks.graphs` take 3.6 times as long, its forest
1.2 times; without the comparisons, a step of breadth-first search on a grid takes 7 times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Cast, Expr, Group, Index, Literal, Op, total_of
from codegen.statements import in_lanes, rewritten
from codegen.walk import rebuilt, spelled_out
from optimizer.analysis.indexing import Counter, Quotient, Sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.statements import Statement
    from optimizer.analysis.indexing import Atom

_MOST = 2**31 - 1


def narrow_counters(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes divide and compare in 32 bits the indices that have them."""
    return in_lanes(statements, lambda loop: [rewritten(loop, _narrow)])


def _narrow(expr: Expr) -> Expr:
    """A tree whose index arithmetic divides and compares in 32 bits."""
    if (compared := _compared(expr)) is not None:
        return compared
    if not isinstance(expr, Index):
        return rebuilt(expr, _narrow)
    if not any(_is_narrowed(atom) for atom, _ in expr.sum.terms):
        return expr
    parts = [_product(atom, factor) for atom, factor in expr.sum.terms]
    parts += [Literal(expr.sum.constant)] if expr.sum.constant else []
    return total_of(parts, "+")


def _compared(expr: Expr) -> Expr | None:
    """A comparison of an index with a number in 32 bits; None for other trees."""
    match expr:
        case Op("<" | "<=" | ">" | ">=" as op, (Index(total) as index, Literal(int(n)) as bound)):
            fits = max(-total.low, total.high, abs(n)) <= _MOST
            return Op(op, (Cast("s32", _narrow(index)), bound)) if fits else None
        case _:
            return None


def _product(atom: Atom, factor: int) -> Expr:
    value = _divided(atom) if _is_narrowed(atom) else spelled_out(Sum(0, ((atom, 1),)))
    return value if factor == 1 else value * factor


def _is_narrowed(atom: Atom) -> bool:
    """Whether it is a division that takes a product, of a small dividend."""
    if isinstance(atom, Counter):
        return False
    small = atom.dividend.low >= 0 and atom.dividend.high <= _MOST
    return small and bool(atom.divisor & (atom.divisor - 1))


def _divided(atom: Atom) -> Expr:
    """A division in 32 bits, as a number of 64."""
    assert not isinstance(atom, Counter), atom
    dividend = Cast("s32", _narrow(Index(atom.dividend)))
    op = dividend // atom.divisor if isinstance(atom, Quotient) else dividend % atom.divisor
    return Cast("s64", Group(op))
