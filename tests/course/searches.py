"""The project's own solution to "find it": a small module on which a suspect is wrong."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from hlo.types.element_type import F32, PRED, S32
from hlo_tools.exercises.cases import one_instruction
from hlo_tools.generate.modules import random_module
from hlo_tools.search.checking.search import search, smallest
from hlo_tools.search.shrink.case import Case
from hlo_tools.search.shrink.shrink import shrink

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Module
    from hlo_tools.assignments.bugs import Bug

# Searches for a wrong pass, modules in each, and random modules for a wrong plan.
SEEDS, MODULES, PLANS = 12, 150, 240
REAL = (F32, S32, PRED)


def find_bug(bug: Bug, seconds: float = 5) -> Module | None:
    """A module on which a suspect is wrong; None if none is found.

    Parameters
    ----------
    seconds : how long to look for a smaller one.
    """
    example = next((m for m in modules_for(bug, seconds) if bug.wrong_on(m)), None)
    if example is None or bug.kind != "plan":
        return example
    small = shrink(Case(example), lambda case: bool(bug.wrong_on(case.module)), seconds=seconds)
    return small.module


def modules_for(bug: Bug, seconds: float) -> Iterator[Module]:
    """Modules on which a suspect may be wrong."""
    if bug.kind == "kernel":
        cases = [c for o in bug.opcodes for c in one_instruction(o, 80, REAL)]
        sized = [c for c in cases if c.module.entry.root.shape.size]
        yield from (c.module for c in sorted(sized, key=lambda c: c.size))
    elif bug.kind == "plan":
        yield from (random_module(Random(seed), 12) for seed in range(PLANS))
    else:
        for seed in range(SEEDS):
            failure, _ = search(bug.mutant, MODULES, seed)
            if failure is not None:
                yield smallest(bug.mutant, failure, seconds=seconds).before
                yield failure.before
