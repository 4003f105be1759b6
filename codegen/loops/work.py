"""About how long statements take: the estimates by which the passes over kernels decide.

The unit is what one number takes in a vector lane: a load, an addition or a store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Apply, Expr
from codegen.statements import (
    Assign,
    Break,
    Call,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Statement,
    Try,
)
from codegen.walk import walk
from optimizer.analysis.runs import UNKNOWN_TRIPS

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAST_WORK = 1 << 18
"""Measured: work of the smallest part that is worth a thread. It is 65,000 additions of two arrays
and takes about 5 us, as long as it takes to wake a thread."""
FUNCTION_WORK, SCALAR_WORK = 8, 4
"""Chosen: work of a function like `exp` of a number in a lane, and how much longer anything takes
outside of lanes. By the latter only a cumulative sum changes, by less than 3 % (1 and 16).
Functions take 13 (`exp`) to 90 (`sin`); but with 13, `exp` of a million numbers takes 1.04 times as
long, softmax of 1024 rows 1.09, and others as long."""


def work(statements: Iterable[Statement]) -> int:
    """About how long statements take; a number's load, addition or store in a vector lane is 1."""
    return sum(_work(s) for s in statements)


def _work(statement: Statement) -> int:
    match statement:
        case For():
            nested = any(isinstance(s, For) for s in statement.body)
            statement_work = 1 if nested or statement.simd else SCALAR_WORK
            # The work of a function is counted in lanes, whatever the loop around it is.
            inside = sum(_work(s) * (1 if _is_call(s) else statement_work) for s in statement.body)
            return trip_count(statement) * inside
        case If(condition, then, otherwise):
            return _tree_work(condition) + max(work(then), work(otherwise))
        case Forever(body):
            return UNKNOWN_TRIPS * work(body)
        case Call() | Try():
            return max(statement.work, 1) if isinstance(statement, Call) else UNKNOWN_TRIPS
        case Break(condition):
            return _tree_work(condition)
        case Let() | LocalVariable() | Assign():
            known = statement.work if isinstance(statement, LocalVariable) else 0
            return known or (1 if statement.value is None else _tree_work(statement.value))


def _is_call(statement: Statement) -> bool:
    """Whether the work of a statement is the call of one function."""
    return isinstance(statement, Call) or (
        isinstance(statement, LocalVariable) and statement.work > 0
    )


def _tree_work(tree: Expr) -> int:
    return 1 + FUNCTION_WORK * sum(isinstance(expr, Apply) for expr in walk(tree))


def trip_count(loop: For) -> int:
    """The trip count of a loop, as far as its bounds say."""
    if loop.trip_count is not None:
        return loop.trip_count
    start, stop, step = loop.start, loop.stop, loop.step
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return len(range(start, stop, step))
    return UNKNOWN_TRIPS
