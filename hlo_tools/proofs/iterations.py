"""Proves that loops have the iterations that they had before a transformation, in their order.

    for i_block < 64 by 32: for k < 32: i = i_block + k; ...

has all i below 64: iteration i is number `i % 32` of the block `i - i % 32`. No two blocks and
numbers have one i, and of two iterations the later one has the greater i.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from codegen.schedule.legality import IllegalError
from hlo_tools.proofs.index_terms import check, term
from hlo_tools.proofs.solver import Solved, z3

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from codegen.schedule.obligations import Part, SameIterations
    from codegen.statements import For


def prove_iterations(asked: SameIterations) -> str:
    """The answer, with its claim: all iterations are done.

    Raises
    ------
    IllegalError
        if they are not, or not as it is said.
    """
    names = " and ".join(loop.name for loop in asked.before)
    how = {"in order": "once, in order", "once": "once", "again": "once or more"}[asked.how]
    line = f"each iteration over {names} is done {how}"
    wrong = z3.Or(*(fact for part in asked.parts for fact in [_outside(asked.before, part)]))
    questions = [wrong, _left_out(asked)]
    if asked.how != "again":
        questions.append(_twice(asked))
    for question in questions:
        solver, answer = check(question)
        if answer == z3.sat:
            message = f"not {line}: {solver.model()}"
            raise IllegalError(message)
        if answer != z3.unsat:
            return f"not decided: {line}"
    return f"proved: {line}"


def _outside(before: Sequence[For], part: Part) -> Solved:
    """An iteration of a part is none of the loops before."""
    counters, facts = _of_part(part, "")
    at = _numbers(before, part, counters)
    return z3.And(*facts, z3.Not(_within(before, at)))


def _left_out(asked: SameIterations) -> Solved:
    """An iteration of the loops before is in no part, where it should be."""
    old = {loop.name: z3.Int(f"{loop.name} before") for loop in asked.before}
    covered: list[Solved] = []
    for part in asked.parts:
        counters = {loop.name: term(part.inverse[loop.name], old) for loop in part.loops}
        at = _numbers(asked.before, part, counters)
        same = [at[name] == number for name, number in old.items()]
        does = [] if part.condition is None else [term(part.condition, counters)]
        covered.append(z3.And(_within(part.loops, counters), *does, *same))
    return z3.And(_within(asked.before, old), z3.Not(z3.Or(*covered)))


def _twice(asked: SameIterations) -> Solved:
    """Two iterations of parts, one after the other, are the same before, or in the other order."""
    conflicts: list[Solved] = []

    def wrong(first: Part, second: Part, is_later: Callable[..., Solved] | None) -> None:
        one, facts = _of_part(first, " first")
        other, more = _of_part(second, " second")
        old, new = (
            [_numbers(asked.before, part, c)[loop.name] for loop in asked.before]
            for part, c in ((first, one), (second, other))
        )
        in_order = _is_before(old, new) if asked.how == "in order" else z3.Not(_all_equal(old, new))
        later = [] if is_later is None else [is_later([*one.values()], [*other.values()])]
        conflicts.append(z3.And(*facts, *more, *later, z3.Not(in_order)))

    for part in asked.parts:
        if part.loops:
            wrong(part, part, _is_before)
    for first, second in combinations(asked.parts, 2):
        wrong(first, second, None)
    return z3.Or(*conflicts)


def _of_part(part: Part, which: str) -> tuple[dict[str, Solved], list[Solved]]:
    """The counters of an iteration of a part that does something, and what is known of them."""
    counters = {loop.name: z3.Int(f"{loop.name}{which}") for loop in part.loops}
    does = [] if part.condition is None else [term(part.condition, counters)]
    return counters, [_within(part.loops, counters), *does]


def _numbers(
    before: Sequence[For], part: Part, counters: Mapping[str, Solved]
) -> dict[str, Solved]:
    return {loop.name: term(part.at[loop.name], counters) for loop in before}


def _within(loops: Sequence[For], counters: Mapping[str, Solved]) -> Solved:
    """Counters have values of an iteration."""
    facts: list[Solved] = []
    for loop in loops:
        start, stop, step = (term(n, counters) for n in (loop.start, loop.stop, loop.step))
        number = counters[loop.name]
        facts += (number >= start, number < stop, (number - start) % step == 0)
    return z3.And(*facts)


def _is_before(first: Sequence[Solved], second: Sequence[Solved]) -> Solved:
    """One iteration of nested loops comes before another one."""
    return z3.Or(
        *(z3.And(_all_equal(first[:n], second[:n]), first[n] < second[n])
          for n in range(len(first)))
    )  # fmt: skip


def _all_equal(first: Sequence[Solved], second: Sequence[Solved]) -> Solved:
    return z3.And(*(x == y for x, y in zip(first, second, strict=True)))
