"""Folds of a few columns, of which each gets a variable, so that rows are folded in lanes.

    for i < 500: for c < 3: s[c] = s[c] + w[i] * x[3 * i + c]

becomes

    s_0 = s[0]; s_1 = s[1]; s_2 = s[2]
    for i < 500: s_0 = s_0 + w[i] * x[3 * i]; s_1 = s_1 + w[i] * x[3 * i + 1]; ...
    s[0] = s_0; s[1] = s_1; s[2] = s_2

Three columns fill no vector, and each row waits for the one before it. Where all elements lie side
by side, several rows are collapsed instead (`collapse_loops`); but forces between points, and other
sums of coordinates with weights, have an array without columns as well. Without this, forces of 200
points on each other take 2.7 times as long in two dimensions, and 1.4 times in three.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Literal, Load, Name
from codegen.kinds import number_of
from codegen.loops.work import trip_count
from codegen.schedule.loop import LoopView
from codegen.schedule.unroll import unroll
from codegen.statements import (
    Assign,
    For,
    LocalVariable,
    Statement,
    base,
    nested,
    rewritten,
    straight,
)
from codegen.walk import rebuilt
from emit_c.kernels.unroll_short_loops import MOST_WRITTEN
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr


def unroll_columns(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose folds of a few columns have a variable for each."""
    arrays: dict[str, LocalVariable] = {}
    result: list[Statement] = []
    for statement in statements:
        if isinstance(statement, LocalVariable) and statement.size is not None:
            arrays[statement.name] = statement
        if isinstance(statement, For):
            result += _unrolled(body, statement, arrays)
        else:
            result.append(statement)
    return tuple(result)


def _unrolled(body: Body, loop: For, arrays: Mapping[str, LocalVariable]) -> Sequence[Statement]:
    """A fold of rows, and the statements before and after it; others with those inside changed."""
    if not _is_of_few_columns(loop, arrays):
        return [loop.with_body(unroll_columns(body, loop.body))]
    (columns,) = loop.body
    assert isinstance(columns, For)
    assert isinstance(columns.stop, int)
    names = {
        Load(Name(array), Literal(k)): Name(body.name(array))
        for _, array in loop.reductions
        for k in range(columns.stop)
    }
    folds = tuple(
        (op, names[Load(Name(array), Literal(k))].name)
        for op, array in loop.reductions
        for k in range(columns.stop)
    )

    def change(tree: Expr) -> Expr:
        return names[tree] if isinstance(tree, Load) and tree in names else rebuilt(tree, change)

    inside = tuple(rewritten(s, change) for s in unroll(body, columns))
    return [
        *(LocalVariable(arrays[base(e)].kind, v.name, e) for e, v in names.items()),
        replace(loop, body=inside, reductions=folds, simd=True),
        *(Assign(element, variable) for element, variable in names.items()),
    ]


def _is_of_few_columns(loop: For, arrays: Mapping[str, LocalVariable]) -> bool:
    """Whether a loop folds rows of columns that fill no vector, and does nothing else."""
    if not loop.reductions or trip_count(loop) < machine.BLOCK_OF_LANES:
        return False
    columns = LoopView(loop).only_loop
    if columns is None or not LoopView(columns).counts_from_0:
        return False
    count = trip_count(columns)
    if count not in machine.SHORT_LOOPS or not straight(columns.body):
        return False
    if count * sum(1 for _ in nested(columns.body)) > MOST_WRITTEN:
        return False
    folded = [arrays.get(name) for _, name in loop.reductions]
    return all(a is not None and a.size == count and number_of(a.kind) for a in folded)
