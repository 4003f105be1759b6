"""Loop coalescing: two loops of a fold as one, where their elements lie one behind the other.

    for i < 9362: for j < 7: total = total + x[7 * i + j]

becomes

    for i < 65534: total = total + x[i]

A row of seven fills no vector, and is folded one number after the other. Neither of the counters
may be used alone. Without this, the maximum of all u8 of 9,362 rows of seven takes 20 times as
long, the sum of so many f32 8 times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Index, indexed
from codegen.loops.work import trip_count
from codegen.statements import For, names_in, nested, replaced, rewritten, trees
from codegen.walk import names_of, rebuilt, walk
from optimizer import machine
from optimizer.analysis.indexing import Counter, Sum, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.expressions import Expr
    from codegen.statements import Statement


def coalesce_loops(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose folds have one loop instead of two, where one counter is enough."""

    def change(statement: Statement) -> Sequence[Statement] | None:
        if not isinstance(statement, For):
            return None
        loop = statement.with_body(coalesce_loops(statement.body))
        while (made := _coalesced(loop)) is not None:
            loop = made
        return [loop]

    return replaced(statements, change)


def _coalesced(outer: For) -> For | None:
    """A loop and the only one inside of it as one loop; None where that cannot be."""
    inner = outer.body[0] if len(outer.body) == 1 else None
    if not isinstance(inner, For) or not (_is_plain(outer) and _is_plain(inner)):
        return None
    width, folds = trip_count(inner), outer.reductions or inner.reductions
    alike = outer.parallel == inner.parallel and inner.reductions in ((), folds)
    if not folds or not alike or outer.simd or width >= machine.MOST_COLLAPSED_COLUMNS:
        return None
    pair, size = {outer.name, inner.name}, trip_count(outer) * width
    every = [t for s in nested(inner.body) for tree in trees(s) for t in walk(tree)]
    sums = [t.sum for t in every if isinstance(t, Index) and not pair.isdisjoint(names_of(t))]
    alone = sum(len(pair.intersection(total.names)) for total in sums)
    if alone != sum(name in pair for name in names_in(inner.body)):
        return None
    if not all(_is_of_both(total, outer.name, inner.name, width) for total in sums):
        return None

    def change(tree: Expr) -> Expr:
        if not isinstance(tree, Index) or inner.name not in tree.sum.names:
            return rebuilt(tree, change)
        kept = [t for t in tree.sum.terms if not pair.intersection(Sum(0, (t,)).names)]
        factor = dict(tree.sum.factors)[inner.name]
        number = unknown(outer.name, 0, size - 1) * factor
        return indexed(number + Sum(tree.sum.constant, tuple(kept)))

    body = tuple(rewritten(s, change) for s in inner.body)
    return replace(outer, stop=size, body=body, simd=inner.simd, reductions=folds)


def _is_plain(loop: For) -> bool:
    counted = isinstance(loop.stop, int) and (loop.start, loop.step) == (0, 1)
    return counted and loop.trip_count is None and not loop.unroll


def _is_of_both(total: Sum, outer: str, inner: str, width: int) -> bool:
    """Whether a sum has multiples of both counters, as of the number of a column of all rows."""
    found = {atom.name: factor for atom, factor in total.terms if isinstance(atom, Counter)}
    plain = total.names.count(outer) == total.names.count(inner) == 1
    return plain and {outer, inner} <= found.keys() and found[outer] == width * found[inner]
