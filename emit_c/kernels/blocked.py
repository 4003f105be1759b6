"""Folds of a whole array in blocks, so that several threads may each fold some of them.

    total = initial; for every i: total = total + x[i]

becomes

    for every block: part = -0; for every i of the block: part = part + x[i]; parts[block] = part
    total = initial; for every block: total = total + parts[block]

The blocks depend on the size of the array alone, so that the result is the same on any number of
threads. Sums in blocks are also more precise: rounding errors grow with the number of additions
that a number goes through.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from emit_c.code.loops import Assign, For, Let, Statement, Variable
from emit_c.kernels.folds import joined, neutral, renamed
from emit_c.kernels.parallel import LEAST_WORK, turns, work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_c.kernels.body import Body

MOST_BLOCKS = 512


def in_blocks(body: Body, statements: Sequence[Statement]) -> list[Statement]:
    """A kernel's statements, with large folds into scalars done in blocks."""
    found: list[Statement] = []
    variables: dict[str, Variable] = {}
    for statement in statements:
        if isinstance(statement, Variable) and statement.size is None:
            variables[statement.name] = statement
        folds = _folds(statement)
        starts = {n: neutral(op, variables[n].kind) for op, n in folds if n in variables}
        if isinstance(statement, For) and len(folds) == len(starts) > 0 and all(starts.values()):
            kinds = {name: variables[name].kind for _, name in folds}
            found += _blocked(body, statement, folds, kinds, starts)
        else:
            found.append(statement)
    return found


def _folds(statement: Statement) -> tuple[tuple[str, str], ...]:
    """What a loop folds, if it is large enough and does nothing else."""
    if not isinstance(statement, For) or work([statement]) < 2 * LEAST_WORK:
        return ()
    plain = isinstance(statement.stop, int) and (statement.start, statement.step) == (0, 1)
    inner = statement
    while not inner.reductions and len(inner.body) == 1 and isinstance(inner.body[0], For):
        inner = inner.body[0]
    return inner.reductions if plain and not statement.parallel else ()


def _blocked(
    body: Body, loop: For, folds: Sequence[tuple[str, str]], kinds: dict[str, str],
    starts: dict[str, str],
) -> list[Statement]:  # fmt: skip
    n = turns(loop)
    count = min(MOST_BLOCKS, work([loop]) // LEAST_WORK, n)
    size = -(-n // count)
    count = -(-n // size)
    names = {name: body.name("part") for _, name in folds}
    parts = {name: body.name("parts") for _, name in folds}
    block, first, last, again = map(body.name, ("block", "first", "last", "block"))
    inner = renamed(replace(loop, start=first, stop=last, turns=size), names)
    turn = (
        Let("s64", first, f"{block} * {size}"),
        Let("s64", last, f"{first} + {size} < {n} ? {first} + {size} : {n}"),
        *(Variable(kinds[name], names[name], starts[name]) for _, name in folds),
        inner,
        *(Assign(f"{parts[name]}[{block}]", names[name]) for _, name in folds),
    )
    together = (Assign(name, joined(op, name, f"{parts[name]}[{again}]")) for op, name in folds)
    return [
        *(Variable(kinds[name], parts[name], size=count) for _, name in folds),
        For(block, count, turn, parallel=True),
        For(again, count, tuple(together)),
    ]
