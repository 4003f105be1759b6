"""The shrinker: finds the smallest module that still has a given property.

`shrink(case, holds)` makes one change after the other and keeps those after which `holds` says yes,
until none is left that does: first it leaves out instructions, then it makes shapes smaller, then
constants and arguments plainer. A smaller shape may make an instruction superfluous, so all of that
begins again until nothing changes. Of a large module it first looks for a small part that will do.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from hlo.verify import verify
from hlo_tools.search.orders import Judge, downhill
from hlo_tools.search.shrink.case import Case
from hlo_tools.search.shrink.fewer import fewer
from hlo_tools.search.shrink.parts import parts
from hlo_tools.search.shrink.plainer import plainer
from hlo_tools.search.shrink.smaller import smaller

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Holds = Callable[[Case], bool]
    Stage = Callable[[Case], Iterator[Case]]

# The steps that make a case smaller, the most important first.
STAGES = (fewer, smaller, plainer)
# Of more instructions, most are not left out one after the other.
LARGE = 40
# Cases of more elements take long to run, so that they are cut first.
MANY = 2000


def shrink(
    case: Case,
    holds: Holds,
    *,
    tries: int = 3000,
    seconds: float = 15,
    clock: Callable[[], float] = monotonic,
    watch: Callable[[Case, bool | None], None] = lambda _, __: None,
) -> Case:
    """A smaller case of which something holds, too.

    Parameters
    ----------
    holds : is called with well-formed modules only, and may raise nothing.
    tries : after so many questions the smallest one so far must do.
    seconds : of a clock, after which it must do anyway. What is found then depends on the machine,
        so there should be time enough for all tries.
    watch : is told of each case, and whether `holds` said yes.

    Returns
    -------
    Case
        the same object if nothing smaller was found.
    """
    judge = Judge[Case, bool](
        lambda c: (is_sound(c) and holds(c)) or None,
        watch,
        tries=tries,
        deadline=clock() + seconds,
        clock=clock,
        text=str,
    )

    def settle(case: Case, stage: Stage) -> Case:
        """Make all changes of one kind that can be made."""
        return downhill(case, lambda c: (s for s in stage(c) if s.is_smaller_than(c)), judge)

    if sum(1 for _ in case.module.instructions()) > LARGE:
        case = settle(case, parts)
    if case.elements > MANY:
        case = settle(case, smaller)
    while True:
        before = case
        for stage in STAGES:
            case = settle(case, stage)
        if case is before:
            return case


def is_sound(case: Case) -> bool:
    """Whether a module is well-formed."""
    try:
        verify(case.module)
    except Exception:
        return False
    return True
