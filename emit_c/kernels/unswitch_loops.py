"""Loops in lanes whose choice is the same for all iterations, written once for each side.

    for j in lanes: y[j] = c ? x[j] % k == 0 : x[j]

becomes

    if (c) { for j in lanes: y[j] = x[j] % k == 0 } else { for j in lanes: y[j] = x[j] }

In lanes both sides are computed, so a loop takes as long as both of them even if one side is hardly
any work. Compilers call this loop unswitching. Without it, a sieve of primes takes 3.8 times as
long: most numbers are no primes, and their iterations only copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Choose, Name
from codegen.loops.work import FUNCTION_WORK, trip_count, work
from codegen.schedule.unswitch import decided_loops, unswitch
from codegen.statements import changed_in, in_lanes, nested, trees
from codegen.walk import walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.statements import For, Statement

WORTH_A_BRANCH = 1024
"""Measured: work of all iterations that a branch spares, which processors may foresee wrongly. With
half of it, Metropolis' algorithm takes 1.2 times as long, which steps or stays at random, with 624
to spare; two others, of 336 and 500, take 0.96 and 0.98 times as long (`benchmarks.ablate
--numbers`)."""


def unswitch_loops(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements in which a loop in lanes does not compute both sides of one choice for all."""
    return in_lanes(statements, lambda loop: _unswitched(body, loop))


def _unswitched(body: Body, loop: For) -> Sequence[Statement] | None:
    """A loop for each side of a choice of which one side is little work; None if there is none."""
    inside = changed_in([loop])
    every = (expr for s in nested(loop.body) for tree in trees(s) for expr in walk(tree))
    conditions = dict.fromkeys(expr.condition for expr in every if isinstance(expr, Choose))
    for condition in conditions:
        if not isinstance(condition, Name) or condition.name in inside:
            continue
        least = min(work(side.body) for side in decided_loops(loop, condition))
        all_of_it = work(loop.body)
        spared = all_of_it - least
        if 2 * least > all_of_it or spared < FUNCTION_WORK:
            continue
        if spared * trip_count(loop) >= WORTH_A_BRANCH:
            return [unswitch(body, loop, condition)]
    return None
