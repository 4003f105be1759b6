"""Short rows side by side in lanes, whose elements lie apart and are gathered.

    for i: total = 0; for j < 10: total = total + x[10 * i + j]; y[i] = total

becomes

    for every block of 16: rows[k] = 10 * k for every k
      for k: total = 0; total = total + x[10 * block + rows[k] + 0]; ...; y[block + k] = total

Compilers take numbers apart that lie 2, 3 or 4 apart, or 8 or 16 if they need all. Of others they
load one after the other, which takes as long as to fold them one by one; but of elements of an
array of their own they know no more than that, and gather them all lanes at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Cast, Expr, Group, Index, Literal, Load, Name, Op
from codegen.kinds import number_of
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    Statement,
    each_side,
    nested,
    rewritten,
    straight,
    trees,
)
from codegen.walk import callees_of, rebuilt, spelled_out, walk
from emit_c.code.prelude import functions_of_numbers
from emit_c.kernels.work import trip_count, work
from emit_c.kernels.written_out import written_out
from hlo.types.element_type import ELEMENT_TYPES
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body


def gather_short_rows(body: Body, statements: Sequence[Statement]) -> list[Statement]:
    """Statements whose loops over short rows run in lanes of rows, if these have to be gathered."""
    return [made for s in statements for made in _in_lanes(body, s)]


def _in_lanes(body: Body, statement: Statement) -> Sequence[Statement]:
    if isinstance(statement, If):
        both = (tuple(gather_short_rows(body, b)) for b in (statement.then, statement.otherwise))
        return [If(statement.condition, *both)]
    if not isinstance(statement, For):
        return [statement]
    if _has_short_rows(statement):
        rows = _ShortRows(body, statement)
        if rows.apart and rows.can_be_gathered():
            return rows.statements()
        return [statement]
    return [statement.with_body(gather_short_rows(body, statement.body))]


def _has_short_rows(loop: For) -> bool:
    """Whether a loop over rows folds each, and does no more with it than can be written out."""
    inner = [s for s in loop.body if isinstance(s, For)]
    if not loop.parallel or not isinstance(loop.stop, int) or (loop.start, loop.step) != (0, 1):
        return False
    if not any(each.reductions for each in inner) or loop.stop < machine.MANY_ROWS:
        return False
    counted = all(
        isinstance(each.stop, int) and (each.start, each.step) == (0, 1) and straight(each.body)
        for each in inner
    )
    if not counted or not straight([s for s in loop.body if not isinstance(s, For)]):
        return False
    return max(map(trip_count, inner)) <= machine.LANES and _is_worth_it(inner)


def _is_worth_it(inner: Sequence[For]) -> bool:
    """Whether short loops do more than to load and to add up, which takes no longer without lanes.

    Of folds alone that many iterations are written out; what else so many do is done in parts of
    lanes.
    """
    each = [work([replace(loop, simd=True)]) for loop in inner]
    much = any(
        n >= machine.GATHERED_WORK * trip_count(loop) for n, loop in zip(each, inner, strict=True)
    )
    in_parts = any(trip_count(loop) > machine.HALF_VECTOR and not loop.reductions for loop in inner)
    long = functions_of_numbers()
    called = sum(trip_count(loop) * len(long & _callees(loop)) for loop in inner)
    short = sum(each) <= machine.MOST_GATHERED and called <= machine.MOST_CALLED
    return (much or in_parts) and short


def _callees(loop: For) -> set[str]:
    """The functions that a loop applies."""
    return {name for s in nested([loop]) for each in trees(s) for name in callees_of(each)}


class _ShortRows:
    """A loop over short rows on its way to lanes of them.

    Attributes
    ----------
    apart : how far apart the rows of each array are that are not taken apart.
    """

    def __init__(self, body: Body, loop: For) -> None:
        self.body, self.loop = body, loop
        self.written = tuple(made for s in loop.body for made in written_out(body, s))
        every = [each for s in nested(self.written) for each in trees(s)]
        factors = {factor for each in every for factor in self._factors(each)}
        inner = [replace(s, simd=True) for s in loop.body if isinstance(s, For)]
        whole = set(map(trip_count, inner)).intersection(machine.TAKEN_WHOLE)
        left = whole if work(inner) <= machine.MOST_WRITTEN else ()
        self.apart = sorted(factors.difference(machine.TAKEN_APART, left))

    def can_be_gathered(self) -> bool:
        """Whether vectors of the loaded and stored types can be gathered and scattered."""
        every = list(each_side(self.written))
        kinds = {number_of(s.kind) for s in every if isinstance(s, Let | LocalVariable)}
        lets = [s for s in every if isinstance(s, Let)]
        loaded = {number_of(s.kind) for s in lets if self._lies_apart(s.value)}
        stored = any(isinstance(s, Assign) and self._lies_apart(s.target) for s in every)
        known = (ELEMENT_TYPES.get(kind) for kind in (kinds if stored else loaded))
        gathered = machine.GATHERED_BYTES
        return all(k is not None and k.bytes in gathered and not k.is_complex for k in known)

    def _factors(self, expr: Expr) -> Iterator[int]:
        """By how much the number of the row is multiplied in a tree."""
        for each in walk(expr):
            if isinstance(each, Index):
                yield from (abs(n) for name, n in each.sum.factors if name == self.loop.name)
            elif (factor := self._factor(each)) is not None:
                yield factor

    def _factor(self, product: Expr) -> int | None:
        """By how much an operation multiplies the number of the row, or its negative."""
        match product:
            case Op("*", (Name(name) | Op("-", (Name(name),)), Literal(int(factor)))):
                return factor if name == self.loop.name else None
            case _:
                return None

    def _lies_apart(self, expr: Expr) -> bool:
        return any(n in self.apart for n in self._factors(expr))

    def statements(self) -> Sequence[Statement]:
        """The loop over blocks of rows, and one over those that are left."""
        loop, body = self.loop, self.body
        assert isinstance(loop.stop, int)
        whole = loop.stop - loop.stop % machine.LANES
        block, lane = body.name(f"{loop.name}_block"), body.name("k")
        rows = {n: (body.name("rows"), body.name("row")) for n in self.apart}
        inside: list[Statement] = [Let("s64", loop.name, Name(block) + Name(lane))]
        for array, row in rows.values():
            inside.append(Let("s32", row, Load(Name(array), Name(lane))))

        def placed(expr: Expr) -> Expr:
            """A tree with the beginnings of rows from the arrays that hold them."""
            if isinstance(expr, Index) and self._lies_apart(expr):
                expr = spelled_out(expr.sum)
            factor = self._factor(expr)
            if factor not in rows:
                return rebuilt(expr, placed)
            row = Group(Name(block) * factor + Name(rows[factor][1]))
            assert isinstance(expr, Op)
            return row if isinstance(expr.args[0], Name) else -row

        inside += [rewritten(s, placed) for s in self.written]
        begun = tuple(
            Assign(Load(Name(array), Name(lane)), Cast("s32", Name(lane)) * n)
            for n, (array, _) in rows.items()
        )
        iteration = (
            *(LocalVariable("s32", array, size=machine.LANES) for array, _ in rows.values()),
            For(lane, machine.LANES, begun, simd=True),
            For(lane, machine.LANES, tuple(inside), simd=True),
        )
        blocks = For(block, whole, iteration, step=machine.LANES, parallel=True)
        return (blocks, replace(loop, start=whole)) if whole < loop.stop else (blocks,)
