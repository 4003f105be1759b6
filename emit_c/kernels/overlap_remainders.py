"""Elements left over after whole vectors of a row, computed by one more that ends with the row.

    for i: for j < 43 in lanes: y[43 * i + j] = x[45 * i + j] + x[45 * i + j + 2]

becomes

    for i: for j < 32 in lanes: y[43 * i + j] = ...
           for 27 <= j < 43 in lanes: y[43 * i + j] = ...

gcc computes eight of 11 elements in a shorter vector, and three one by one. Elements that are
computed twice are stored twice, so nothing may read them in between. (Compilers call the remainder
an epilogue, and mask it where they can.) Without this, distances in a field of 41 x 43, by Jacobi's
method, take 1.35 times as long, and waves in rows of 38 1.24 times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Load
from codegen.loops.work import trip_count
from codegen.schedule.divide import overlap
from codegen.schedule.trace import attempt
from codegen.statements import (
    For,
    base,
    blocks,
    in_lanes,
    trees,
)
from codegen.walk import walk
from emit_c.kernels.peephole.outline_math import has_long_functions
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.schedule.types import KernelTypes
    from codegen.statements import Statement

LONGEST_ROW, STEPS_LEFT = 16 * machine.LANES, 3
"""Chosen: elements of a row up to which those left over after whole vectors are worth a vector, and
rows are collapsed: no program's C changes with half or twice as many. Measured: steps for them from
which on one is faster. With 1, copies of rows of 33 take 1.06 times as long, sums of sparse rows of
17 1.04."""


def overlap_remainders(
    body: Body, statements: Sequence[Statement], types: KernelTypes
) -> tuple[Statement, ...]:
    """Statements whose loops over rows in lanes leave few elements over."""

    def change(loop: For) -> Sequence[Statement]:
        return _overlapping(body, loop, types)

    return tuple(
        result for s in statements for result in (in_lanes([s], change) if _has_rows(s) else [s])
    )


def _has_rows(statement: Statement) -> bool:
    """Whether a statement may run loops in lanes again and again."""
    return bool(blocks(statement)) and not (isinstance(statement, For) and statement.simd)


def _overlapping(body: Body, loop: For, types: KernelTypes) -> Sequence[Statement]:
    lanes, count = _lanes(loop, types), trip_count(loop)
    if not lanes or not lanes < count <= LONGEST_ROW or has_long_functions(loop):
        return [loop]
    if _steps(count % lanes, lanes) < STEPS_LEFT:
        return [loop]
    return attempt(lambda: overlap(body, loop, lanes)) or [loop]


def _steps(left: int, lanes: int) -> int:
    """The steps of a remainder in compiled code: half a vector, a quarter, and single elements."""
    half, quarter = lanes // 2, lanes // 4
    return left // half + left % half // quarter + left % quarter


def _lanes(loop: For, types: KernelTypes) -> int:
    """The elements of a vector of the arrays; 0 where these have several sizes."""
    every = (expr for s in loop.body for tree in trees(s) for expr in walk(tree))
    stored = {types.of_argument(base(expr)) for expr in every if isinstance(expr, Load)}
    sizes = {element_type.bytes if element_type else 0 for element_type in stored}
    size = sizes.pop() if len(sizes) == 1 else 0
    return machine.WIDEST_VECTOR // size if size in machine.GATHERED_BYTES else 0
