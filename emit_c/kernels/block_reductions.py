"""Folds of a whole array in blocks, so that several threads may each fold some of them.

    total = initial; for every i: total = total + x[i]

becomes

    for every block: part = -0; for every i of the block: part = part + x[i]; parts[block] = part
    total = initial; for every block: total = total + parts[block]

The blocks depend on the size of the array alone, so that the result is the same on any number of
threads. Sums in blocks are also more precise: rounding errors grow with the number of additions
that a number goes through.

Where columns are folded side by side, the variables are arrays, and each block has a row of parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codegen.elements.folds import all_joined, neutral
from codegen.expressions import Choose, Expr, Load, Name, Op, as_expr
from codegen.kinds import number_of
from codegen.loops.work import trip_count, work
from codegen.statements import Assign, For, Let, LocalVariable, Statement, renamed
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body

MOST_BLOCKS = 512
"""Chosen: blocks of a large fold. The order of its sums must not depend on the number of threads,
so there are enough for any."""
MOST_PARTS = 1 << 15
"""Derived from the stacks of threads: results of all blocks of a fold, 256 KiB of f64."""


def block_reductions(body: Body, statements: Sequence[Statement]) -> list[Statement]:
    """A kernel's statements, with large folds done in blocks."""
    found: list[Statement] = []
    variables: dict[str, LocalVariable] = {}
    for statement in statements:
        if isinstance(statement, LocalVariable):
            variables[statement.name] = statement
        folds = _folds(statement)
        known = [(op, variables[name]) for op, name in folds if name in variables]
        starts = [neutral(op, number_of(variable.kind)) for op, variable in known]
        if isinstance(statement, For) and len(folds) == len(known) > 0 and all(starts):
            parts = [_BlockedFold(*pair, body.name("part"), body.name("parts")) for pair in known]
            found += _blocked(body, statement, parts)
        else:
            found.append(statement)
    return found


@dataclass(frozen=True, slots=True)
class _BlockedFold:
    """A variable, or an array of them, that is folded into, and the names of its parts."""

    operation: str
    variable: LocalVariable
    part: str
    parts: str

    @property
    def start(self) -> Expr:
        """The initial value of a block."""
        start = neutral(self.operation, number_of(self.variable.kind))
        assert start is not None
        return start

    @property
    def width(self) -> int:
        """The number of values that are folded side by side."""
        return self.variable.size or 1

    def begin(self, column: str) -> list[Statement]:
        """Declare the part of a block."""
        kind = number_of(self.variable.kind)
        if self.variable.size is None:
            return [LocalVariable(kind, self.part, self.start)]
        each = Assign(Load(Name(self.part), Name(column)), self.start)
        return [
            LocalVariable(kind, self.part, size=self.width),
            For(column, self.width, (each,), simd=True),
        ]

    def end(self, block: str, column: str) -> list[Statement]:
        """Keep the part of a block."""
        parts = Name(self.parts)
        if self.variable.size is None:
            return [Assign(Load(parts, Name(block)), Name(self.part))]
        own = Load(parts, Name(block) * self.width + Name(column))
        each = Assign(own, Load(Name(self.part), Name(column)))
        return [For(column, self.width, (each,), simd=True)]

    def whole_and_part(self, block: str, column: str) -> tuple[str, Expr, Expr]:
        """The statements that fold a block's result into the whole."""
        whole, parts = Name(self.variable.name), Name(self.parts)
        if self.variable.size is None:
            return self.operation, whole, Load(parts, Name(block))
        part = Load(parts, Name(block) * self.width + Name(column))
        return self.operation, Load(whole, Name(column)), part


def _folds(statement: Statement) -> tuple[tuple[str, str], ...]:
    """The folds of a loop that is large enough and does nothing else."""
    if not isinstance(statement, For) or work([statement]) < 2 * machine.LEAST_WORK:
        return ()
    plain = isinstance(statement.stop, int) and (statement.start, statement.step) == (0, 1)
    inner = statement
    while not inner.reductions and len(inner.body) == 1 and isinstance(inner.body[0], For):
        inner = inner.body[0]
    return inner.reductions if plain and not statement.parallel else ()


def _blocked(body: Body, loop: For, folds: Sequence[_BlockedFold]) -> list[Statement]:
    n = trip_count(loop)
    most = min(MOST_BLOCKS, MOST_PARTS // max(f.width for f in folds), n)
    count = max(min(most, work([loop]) // machine.LEAST_WORK), 1)
    size = -(-n // count)
    count = -(-n // size)
    if count == 1:
        return [loop]
    block, first, last, again = map(body.name, ("block", "first", "last", "block"))
    column = body.name("column")
    inner = renamed(
        replace(loop, start=Name(first), stop=Name(last), trip_count=size),
        {fold.variable.name: Name(fold.part) for fold in folds},
    )
    end = Name(first) + size
    iteration = (
        Let("s64", first, Name(block) * size),
        Let("s64", last, Choose(Op("<", (end, as_expr(n))), end, as_expr(n))),
        *(s for fold in folds for s in fold.begin(column)),
        inner,
        *(s for fold in folds for s in fold.end(block, column)),
    )
    return [
        *(LocalVariable(f.variable.kind, f.parts, size=count * f.width) for f in folds),
        For(block, count, iteration, parallel=True),
        For(again, count, _together(folds, again, column)),
    ]


def _together(folds: Sequence[_BlockedFold], block: str, column: str) -> tuple[Statement, ...]:
    """Fold the parts of a block into the whole; folds side by side are all of one width."""
    joined = all_joined([fold.whole_and_part(block, column) for fold in folds])
    if folds[0].variable.size is None:
        return joined
    return (For(column, folds[0].width, joined, simd=True),)
