"""Loops over rows, distributed: first the folds, and then functions of their results, in lanes.

    for i: s = 0; for j < 32: s = s + x[32 * i + j];  y[i] = log_f32(s)

becomes

    for every block of 64:
      for k: s = 0; for j < 32: s = s + x[32 * (64 * block + k) + j];  sums[k] = s
      for k in lanes: y[64 * block + k] = log_f32(sums[k])

A long function of one number takes as long as of a vector of them, and as long as to fold a short
row. The results of a block stay in the cache. (Compilers call this loop distribution, and the array
scalar expansion.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Load, Name
from codegen.loops.work import work
from codegen.loops.written_out import copied
from codegen.statements import (
    Assign,
    For,
    Let,
    LocalVariable,
    Statement,
    base,
    callees_in,
    nested,
    own_names,
    replaced,
)
from emit_c.code.prelude import functions_of_numbers
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr


def distribute_loops(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops over rows compute no long function of the folds of one row."""
    return replaced(statements, lambda s: _distributed(body, s))


def _distributed(body: Body, statement: Statement) -> list[Statement] | None:
    if not isinstance(statement, For) or statement.simd or statement.step != 1:
        return None
    start, stop = statement.start, statement.stop
    if not isinstance(start, int) or not isinstance(stop, int):
        return None
    folds = any(isinstance(s, For) and s.reductions for s in statement.body)
    if not folds or stop - start < machine.FEWEST_ROWS or not _long(statement.body):
        return None
    rows = _DistributedRows(body, statement)
    return rows.statements(start, stop) if rows.can_be_distributed() else None


class _DistributedRows:
    """A loop over rows on its way to two.

    Attributes
    ----------
    first : the statements that fold, and those that these need.
    last : the others, which are in lanes.
    kept : the types of the numbers that the last need of the first, by their names.
    """

    def __init__(self, body: Body, loop: For) -> None:
        self.body, self.loop = body, loop
        stored = [s for s in loop.body if _is_store(s)]
        needed = {n for s in loop.body if not _is_store(s) and not isinstance(s, Let)
                  for n in _names([s])}  # fmt: skip
        for s in reversed(loop.body):
            if isinstance(s, Let) and s.name in needed:
                needed |= set(own_names(s))
        self.first = [s for s in loop.body if s not in stored and _declared(s) in {*needed, ""}]
        again = self._again()
        self.last = [s for s in loop.body if s not in self.first or s in again]
        used = set(_names(self.last)) - {_declared(s) for s in self.last}
        made = [s for s in self.first if isinstance(s, Let | LocalVariable)]
        self.kept = {s.name: s for s in made if s.name in used}

    def _again(self) -> list[Statement]:
        """The cheap statements of the first loop that the second one repeats, without folds."""
        changed = {s.name for s in self.loop.body if isinstance(s, LocalVariable)}
        found: list[Statement] = []
        for s in self.first:
            if isinstance(s, Let) and changed.isdisjoint(own_names(s)) and not _long([s]):
                found.append(s)
            elif isinstance(s, Let):
                changed.add(s.name)
        return found

    def can_be_distributed(self) -> bool:
        """Whether the last compute long functions of single numbers that are known then."""
        written = {base(s.target) for s in self.last if isinstance(s, Assign)}
        if not _long(self.last) or not written.isdisjoint(_names(self.first)):
            return False
        if work(self.first) > machine.MOST_ROW_WORK:
            return False
        if not all(isinstance(s, Let | Assign) for s in self.last):
            return False
        if any(isinstance(s, LocalVariable) and s.size is not None for s in self.kept.values()):
            return False
        changing = {s.name for s in self.kept.values() if isinstance(s, LocalVariable)}
        place = {n: k for k, s in enumerate(self.loop.body) for n in _assigned(s) if n in changing}
        pairs = (
            (k, n) for k, s in enumerate(self.loop.body) if s in self.last for n in own_names(s)
        )
        return all(k > place.get(n, -1) for k, n in pairs)

    def statements(self, start: int, stop: int) -> list[Statement]:
        """The two loops; of many rows inside of one over blocks, and again for the rest."""
        count = stop - start
        if count <= machine.MOST_ROWS_IN_BLOCK:
            return self._pair(None, start, stop)
        sizes = range(machine.MOST_ROWS_IN_BLOCK, machine.LANES - 1, -1)
        size = next((n for n in sizes if count % n == 0), machine.MOST_ROWS_IN_BLOCK)
        block, whole = self.body.name(f"{self.loop.name}_block"), count // size * size
        before = Name(block) * size + start if start else Name(block) * size
        inside = self._pair(before, 0, size)
        loop = For(block, count // size, tuple(inside), parallel=self.loop.parallel)
        return [loop, *(self._pair(None, start + whole, stop) if whole < count else ())]

    def _pair(self, before: Expr | None, start: int, stop: int) -> list[Statement]:
        """The two loops over some rows, which are counted from a number on."""
        size = stop - start
        arrays = {name: self.body.name(f"{name}_of_rows") for name in self.kept}
        made: list[Statement] = [
            LocalVariable(s.kind, arrays[name], None, size) for name, s in self.kept.items()
        ]
        for simd in (False, True):
            counter = i = self.body.name(self.loop.name)
            rows: list[Statement] = []
            if before is not None:
                counter = self.body.name("k")
                rows.append(Let("s64", i, before + Name(counter)))
            place = Name(counter) - start if start else Name(counter)
            results = {name: Load(Name(array), place) for name, array in arrays.items()}
            values: dict[str, Expr] = {self.loop.name: Name(i), **(results if simd else {})}
            rows += copied(self.body, self.last if simd else self.first, values, {})
            if not simd:
                rows += (Assign(element, values[name]) for name, element in results.items())
            made.append(For(counter, stop, tuple(rows), start, simd=simd))
        return made


def _is_store(statement: Statement) -> bool:
    return isinstance(statement, Assign) and isinstance(statement.target, Load)


def _declared(statement: Statement) -> str:
    """The name that a statement gives to a value; empty for others."""
    return statement.name if isinstance(statement, Let) else ""


def _assigned(statement: Statement) -> Iterable[str]:
    """The variables and arrays that a statement changes."""
    return (base(s.target) for s in nested([statement]) if isinstance(s, Assign))


def _names(statements: Iterable[Statement]) -> Iterable[str]:
    return (name for s in nested(statements) for name in own_names(s))


def _long(statements: Iterable[Statement]) -> bool:
    """Whether statements compute long functions."""
    return not functions_of_numbers().isdisjoint(callees_in(statements))
