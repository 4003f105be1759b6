"""Loops in lanes whose choices repeat after a few iterations, unrolled by that many.

    for i < 64: y[i] = i % 2 == 0 ? a[i / 2] : 0; y[i] += (i - 1) % 2 == 0 ? b[i / 2] : 0

becomes

    for i < 32: y[2 * i] = a[i]; y[2 * i + 1] = b[i]

Padding between elements makes such choices. In lanes they are masks, of loads of elements that lie
neither side by side nor apart by one distance, and compilers run the loop without lanes. Unrolled,
no choice is left, and what is stored is interleaved, which compilers do by shuffles. An associative
scan pads and adds like this at each of its levels: without this, indicators of prices (moving
averages with weights) take 2.3 times as long.
"""

from __future__ import annotations

from functools import partial
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

from codegen.evaluation import evaluated
from codegen.expressions import Index, Literal, Op
from codegen.loops.work import trip_count
from codegen.schedule.conditions import is_polynomial, parts_of
from codegen.schedule.loop import LoopView
from codegen.schedule.unroll import unroll_by
from codegen.statements import If, in_lanes, nested
from codegen.walk import names_of, substitute
from emit_c.kernels.split_loops import MOST_COPIED
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import For, Statement
    from optimizer.analysis.indexing import Sum


def unroll_periods(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes make no choices that repeat after a few iterations."""
    return in_lanes(statements, lambda loop: _unrolled(body, loop))


def _unrolled(body: Body, loop: For) -> Sequence[Statement] | None:
    """A loop over groups of iterations, and the iterations that are left; None if none repeats."""
    if not LoopView(loop).is_counted:
        return None
    choices = [s.condition for s in nested(loop.body) if isinstance(s, If)]
    found = [_Repeated.of(part, loop.name) for c in choices for part in parts_of(c)]
    period = lcm(*(each.divisor for each in found if each))
    groups = trip_count(loop) // period
    copies = period * sum(1 for _ in nested(loop.body))
    if period not in machine.SHORT_LOOPS or loop.reductions or groups < machine.HALF_VECTOR:
        return None
    if copies > MOST_COPIED:
        return None
    return unroll_by(body, loop, period, partial(_truth, loop.name))


class _Repeated(NamedTuple):
    """The condition that a number divides a sum of products of a counter.

    It repeats after as many values of the counter.
    """

    dividend: Expr
    divisor: int

    @classmethod
    def of(cls, condition: Expr, name: str) -> _Repeated | None:
        """Such a condition; None for any other one."""
        match condition:
            case Op("==", (Op("%", (dividend, Literal(int(divisor)))), Literal(0))):
                known = is_polynomial(dividend) and set(names_of(dividend)) == {name}
                return cls(dividend, divisor) if known else None
            case _:
                return None


def _truth(name: str, first: int, number: Expr, condition: Expr) -> bool | None:
    """Whether a condition holds in some iterations; None where they differ, or nobody knows.

    Parameters
    ----------
    first, number : the first of these iterations, and any of them.
    """
    if repeated := _Repeated.of(condition, name):
        return int(evaluated(repeated.dividend, {name: first})) % repeated.divisor == 0
    match substitute(condition, {name: number}):
        case Op("<", (Index(total), Literal(int(bound)))):
            return _is_below(total, bound)
        case Op(">=", (Index(total), Literal(int(bound)))):
            is_below = _is_below(total, bound)
            return None if is_below is None else not is_below
        case _:
            return None


def _is_below(total: Sum, bound: int) -> bool | None:
    """Whether an index is below a bound; None where some of its values are, and others are not."""
    return True if total.high < bound else False if total.low >= bound else None
