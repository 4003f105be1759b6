"""Folds of a whole array in blocks, so that several threads may each fold some of them.

    total = initial; for every i: total = total + x[i]

becomes

    for every block: part = -0; for every i of the block: part = part + x[i]; parts[block] = part
    total = initial; for every block: total = total + parts[block]

The blocks depend on the size of the array alone, so that the result is the same on any number of
threads. Sums in blocks are also more precise: rounding errors grow with the number of additions
that a number goes through.

Where columns are folded side by side, the variables are arrays, and each block has a row of parts.
Without this, on two threads, the mean of 20,000 directions takes 1.7 times as long.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Expr, Load, Name, Op, as_expr
from codegen.kinds import number_of
from codegen.loops.work import LEAST_WORK, trip_count, work
from codegen.schedule.loop import LoopView
from codegen.schedule.rfactor import folding_loop, rfactor
from codegen.schedule.trace import attempt
from codegen.statements import Assign, For, Let, LocalVariable, Statement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codegen.elements.body import Body

MOST_BLOCKS = 512
"""Chosen: blocks of a large fold. The order of its sums must not depend on the number of threads,
so there are enough for any."""
MOST_PARTS = 1 << 15
"""Derived from the stacks of threads: results of all blocks of a fold, 256 KiB of f64."""


def block_reductions(body: Body, statements: Sequence[Statement]) -> list[Statement]:
    """A kernel's statements, with large folds done in blocks."""
    rewritten: list[Statement] = []
    variables: dict[str, LocalVariable] = {}
    for s in statements:
        if isinstance(s, LocalVariable):
            variables[s.name] = s
        blocks = None
        if isinstance(s, For) and _is_worth_it(s, variables):
            blocks = attempt(partial(_blocked, body, s, variables))
        rewritten += blocks or [s]
    return rewritten


def _is_worth_it(loop: For, variables: Mapping[str, LocalVariable]) -> bool:
    """Whether a loop is large, folds into some variables, and does nothing else."""
    folded = {name for _, name in folding_loop(loop).reductions}
    is_fold = (
        LoopView(loop).counts_from_0
        and not loop.parallel
        and bool(folded)
        and folded <= variables.keys()
    )
    return is_fold and work([loop]) >= 2 * LEAST_WORK


def _blocked(
    body: Body, loop: For, variables: Mapping[str, LocalVariable]
) -> list[Statement] | None:
    """The fold of each block into a part, and the fold of the parts; None for a single block."""
    folded = [variables[name] for _, name in folding_loop(loop).reductions]
    part: dict[str, Name] = {}
    parts: dict[str, Name] = {}
    for reduction in folded:
        part[reduction.name], parts[reduction.name] = (
            Name(body.name("part")),
            Name(body.name("parts")),
        )
    n, width = trip_count(loop), folded[0].size
    most = min(MOST_BLOCKS, MOST_PARTS // (width or 1), n)
    size = -(-n // max(min(most, work([loop]) // LEAST_WORK), 1))
    count = -(-n // size)
    if count == 1:
        return None
    block, first, last, again = map(body.name, ("block", "first", "last", "block"))
    column, end = body.name("column"), Name(first) + size
    kinds = {fold.name: number_of(fold.kind) for fold in folded}
    fold = rfactor(replace(loop, start=Name(first), stop=Name(last), trip_count=size), kinds, part)

    def of_each_column(*statements: Statement) -> tuple[Statement, ...]:
        return statements if width is None else (For(column, width, statements, simd=True),)

    def own(array: Name) -> Expr:
        return array if width is None else Load(array, Name(column))

    def in_row(array: Name, row: Name) -> Load:
        return Load(array, row if width is None else row * width + Name(column))

    begun: list[Statement] = []
    stores: list[Statement] = []
    for name, array in part.items():
        if width is None:
            begun.append(LocalVariable(kinds[name], array.name, fold.starts[name]))
        else:
            begun.append(LocalVariable(kinds[name], array.name, size=width))
            begun += of_each_column(Assign(own(array), fold.starts[name]))
        stores += of_each_column(Assign(in_row(parts[name], Name(block)), own(array)))
    iteration = (
        Let("s64", first, Name(block) * size),
        Let("s64", last, Choose(Op("<", (end, as_expr(n))), end, as_expr(n))),
        *(*begun, fold.loop, *stores),
    )
    wholes = {name: own(Name(name)) for name in part}
    rows = {name: in_row(array, Name(again)) for name, array in parts.items()}
    return [
        *(LocalVariable(kinds[n], a.name, size=count * (width or 1)) for n, a in parts.items()),
        For(block, count, iteration, parallel=True),
        For(again, count, of_each_column(*fold.joined(wholes, rows))),
    ]
