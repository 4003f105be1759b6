"""Loops over rows, distributed: first the folds, and then functions of their results, in lanes.

    for i: s = 0; for j < 32: s = s + x[32 * i + j];  y[i] = log_f32(s)

becomes

    for every block of 64:
      for k: i = block + k; s = 0; for j < 32: s = s + x[32 * i + j];  sums[k] = s
      for k in lanes: i = block + k; y[i] = log_f32(sums[k])

A long function of one number takes as long as of a vector of them, and as long as to fold a short
row. The results of a block stay in the cache. (Compilers call this loop distribution, and the array
scalar expansion.) Without this, interpolation by radial basis functions takes 2.3 times as long,
skip-gram 1.6 times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Load, Name
from codegen.loops.work import work
from codegen.schedule.divide import divide, fresh
from codegen.schedule.fission import fission
from codegen.schedule.loop import LoopView
from codegen.schedule.trace import attempt
from codegen.statements import (
    Assign,
    For,
    Let,
    LocalVariable,
    Statement,
    callees_in,
    nested,
    own_names,
    replaced,
)
from emit_c.code.prelude import functions_of_numbers
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr

ITERATIONS_OF_A_BLOCK = 4 * machine.LANES
"""Measured: iterations whose results wait in the cache for another loop: four vectors of f32. With
16, rejection sampling takes 1.04 times as long; with 256, as long."""
FEWEST_ROWS, MOST_ROW_WORK = 4, 1024
"""Chosen: how few rows are worth a loop in lanes; and the work in one beyond which long functions
of its results do not count."""


def distribute_loops(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops over rows compute no long function of the folds of one row."""
    return replaced(statements, lambda s: _distributed(body, s))


def _distributed(body: Body, loop: Statement) -> list[Statement] | None:
    if not isinstance(loop, For) or loop.simd or not LoopView(loop).is_counted:
        return None
    count = LoopView(loop).trips or 0
    folds = any(isinstance(s, For) and s.reductions for s in loop.body)
    if not folds or count < FEWEST_ROWS or not _long(loop.body):
        return None
    if not _Halves(loop).are_worth_it():
        return None
    sizes = range(ITERATIONS_OF_A_BLOCK, machine.LANES - 1, -1)
    size = next((n for n in sizes if count % n == 0), ITERATIONS_OF_A_BLOCK)

    def inside(block: For, _: Expr | int) -> Iterator[Statement]:
        halves = _Halves(block)
        waiting: dict[str, Load] = {}
        for s in halves.kept:
            array = body.name(f"{s.name}_of_rows")
            yield LocalVariable(s.kind, array, None, LoopView(block).trips)
            waiting[s.name] = Load(Name(array), Name(block.name))
        folded, rest = fission(block, halves.first, halves.again, waiting)
        yield fresh(body, folded)
        yield fresh(body, replace(rest, simd=True))

    return attempt(lambda: divide(body, loop, size, inside))


class _Halves:
    """A loop over rows on its way to two.

    Attributes
    ----------
    first : the statements that fold, and those that these need.
    again : the cheap ones of them, without folds, which the second loop repeats.
    last : the statements of the second loop, which is in lanes.
    kept : the values and variables of the first loop that the second one reads.
    """

    def __init__(self, loop: For) -> None:
        stored = [s for s in loop.body if _is_store(s)]
        needed = {n for s in loop.body if not _is_store(s) and not isinstance(s, Let)
                  for n in _names([s])}  # fmt: skip
        for s in reversed(loop.body):
            if isinstance(s, Let) and s.name in needed:
                needed |= set(own_names(s))
        self.first = [s for s in loop.body if s not in stored and _declared(s) in {*needed, ""}]
        changed = {s.name for s in loop.body if isinstance(s, LocalVariable)}
        self.again: list[Statement] = []
        for s in self.first:
            if isinstance(s, Let) and changed.isdisjoint(own_names(s)) and not _long([s]):
                self.again.append(s)
            elif isinstance(s, Let):
                changed.add(s.name)
        self.last = [s for s in loop.body if s not in self.first or s in self.again]
        used = set(_names(self.last)) - {_declared(s) for s in self.last}
        variables = (s for s in self.first if isinstance(s, Let | LocalVariable))
        self.kept = [s for s in variables if s.name in used]

    def are_worth_it(self) -> bool:
        """Whether the last compute long functions of single numbers."""
        if not _long(self.last) or work(self.first) > MOST_ROW_WORK:
            return False
        if any(isinstance(s, LocalVariable) and s.size is not None for s in self.kept):
            return False
        return all(isinstance(s, Let | Assign) for s in self.last)


def _is_store(statement: Statement) -> bool:
    return isinstance(statement, Assign) and isinstance(statement.target, Load)


def _declared(statement: Statement) -> str:
    """The name that a statement gives to a value; empty for others."""
    return statement.name if isinstance(statement, Let) else ""


def _names(statements: Iterable[Statement]) -> Iterable[str]:
    return (name for s in nested(statements) for name in own_names(s))


def _long(statements: Iterable[Statement]) -> bool:
    """Whether statements compute long functions."""
    return any(f.name in functions_of_numbers() for f in callees_in(statements))
