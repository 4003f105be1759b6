"""Barriers between the steps that one kernel does: where a step needs what others did before it.

    a writes x;  b reads y;  c reads x      =>   a;  b;  barrier;  c

Two steps with no barrier between them run at once. So a step comes after a barrier if it uses
bytes that a step since the last barrier has used, and one of the two writes. A loop's first steps
come after its last ones as well. No barrier is needed if each thread uses only what it has used
itself in the step before; and one of a block is enough for steps that the first block does alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from codegen.program.steps import Branch, HostCall, While, uses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from codegen.program.steps import Step

    # Whether two pointers may lead to the same bytes.
    Overlaps = Callable[[str, str], bool]
    # Whether each element of an array is used by the same thread in two steps.
    Own = Callable[[str, Step, Step], bool]


@dataclass(frozen=True, slots=True)
class Use:
    """A use of an array since the last barrier of the grid.

    Attributes
    ----------
    writes : the step may write there.
    step : None if all threads read.
    fenced : after it was a barrier of its block.
    """

    pointer: str
    writes: bool
    step: Step | None
    fenced: bool = False


@dataclass(slots=True)
class Barriers:
    """The barriers of a kernel.

    Attributes
    ----------
    alone : whether one block does a step, which is the first one.
    before : by the identities of steps that a barrier precedes, whether it is one of the grid. It
        precedes a launch or a copy; of a branch the read of its number, of a loop of its predicate.
    """

    overlaps: Overlaps
    own: Own
    alone: Callable[[Step | None], bool]
    before: dict[int, bool] = field(default_factory=dict[int, bool])

    def after(self, steps: Sequence[Step], used: frozenset[Use]) -> frozenset[Use]:
        """The uses since the last barrier after steps, of those before the steps."""
        for step in steps:
            match step:
                case While():
                    used = self._loop(step, used)
                case Branch(number, _, branches):
                    used = self._behind(step, [Use(str(number), False, None)], used)
                    used = frozenset[Use]().union(*(self.after(part, used) for part in branches))
                case HostCall():
                    raise AssertionError(step)
                case _:
                    new = [Use(str(pointer), writes, step) for pointer, writes in uses(step)]
                    used = self._behind(step, new, used)
        return used

    def _loop(self, loop: While, used: frozenset[Use]) -> frozenset[Use]:
        """The uses since the last barrier after a loop, of which any iteration may be the last."""
        while True:
            asked = used
            if loop.trips is None:
                asked = self.after(loop.condition, used)
                asked = self._behind(loop, [Use(str(loop.predicate), False, None)], asked)
            again = used | self.after(loop.body, asked)
            if again == used:
                return asked
            used = again

    def _behind(self, step: Step, new: Iterable[Use], used: frozenset[Use]) -> frozenset[Use]:
        """The uses after a step of new ones, before which there may be a barrier."""
        new = frozenset(new)
        clashes = [(one, other) for one in new for other in used if self._clash(one, other)]
        if not clashes:
            return used | new
        in_block = all(self.alone(use.step) for clash in clashes for use in clash)
        self.before[id(step)] = self.before.get(id(step), False) or not in_block
        if self.before[id(step)]:
            return new
        return new | {replace(use, fenced=use.fenced or self.alone(use.step)) for use in used}

    def _clash(self, one: Use, other: Use) -> bool:
        """Whether two uses need a barrier between them."""
        if not (one.writes or other.writes) or (other.fenced and self.alone(one.step)):
            return False
        if not self.overlaps(one.pointer, other.pointer):
            return False
        if one.pointer != other.pointer or one.step is None or other.step is None:
            return True
        return not self.own(one.pointer, one.step, other.step)
