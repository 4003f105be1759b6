"""Proves that arrays hold for one loop what another one has stored there for it.

A loop that loads `parts[33 * lane + k]` finds what iteration `lane, k` of another one has stored,
if that one stores there, and no other one does: no two iterations below 32 have one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.printer import shown
from codegen.schedule.legality import IllegalError
from hlo_tools.proofs.index_terms import check, term
from hlo_tools.proofs.solver import Solved, z3

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.schedule.obligations import Staged, StagedElement


def prove_staged(asked: Staged) -> str:
    """The answer, with its claim: see `Staged`.

    Raises
    ------
    IllegalError
        if something else is there, or nothing.
    """
    line = f"{asked.array}[{shown(asked.loaded.place)}] has what is stored there for who loads it"
    numbers = {name: z3.Int(name) for name in asked.loaded.counters}
    place, loaded = _terms(asked.loaded, numbers)
    known = z3.And(*_within(asked.loaded, numbers))
    by = {name: term(tree, numbers) for name, tree in asked.stores.items()}
    others = {name: z3.Int(f"{name} of another") for name in asked.stored.counters}
    questions: list[Solved] = []
    for counters, is_other in ((by, False), (others, True)):
        at, stored = _terms(asked.stored, counters)
        is_there = [*_within(asked.stored, counters), at == place]
        same = z3.And(*(x == y for x, y in zip(stored, loaded, strict=True)))
        wrong = z3.And(*is_there, z3.Not(same)) if is_other else z3.Not(z3.And(*is_there, same))
        questions.append(z3.And(known, wrong))
    solver, answer = check(z3.Or(*questions))
    if answer == z3.sat:
        message = f"not {line}: {solver.model()}"
        raise IllegalError(message)
    return f"proved: {line}" if answer == z3.unsat else f"not decided: {line}"


def _terms(element: StagedElement, counters: Mapping[str, Solved]) -> tuple[Solved, list[Solved]]:
    """The place of an element, and what it is."""
    return term(element.place, counters), [term(each, counters) for each in element.what]


def _within(element: StagedElement, counters: Mapping[str, Solved]) -> list[Solved]:
    facts: list[Solved] = []
    for name, numbers in element.counters.items():
        number = counters[name] - numbers.start
        facts += (number >= 0, number < len(numbers) * numbers.step, number % numbers.step == 0)
    return facts
