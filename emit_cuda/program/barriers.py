"""Barriers between the steps that one kernel does: where a step needs what others did before it.

    a writes x;  b reads y;  c reads x      =>   a;  b;  barrier;  c

Two steps with no barrier between them run at once. So a step comes behind a barrier if it uses
bytes that a step since the last barrier has used, and one of the two writes. A loop's first steps
come after its last ones as well. No barrier is needed if each thread uses only what it has used
itself in the step before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from emit_cuda.program.steps import Branch, Copy, Launch, While

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from emit_cuda.program.steps import Step

    # Whether two pointers may lead to the same bytes.
    Overlaps = Callable[[str, str], bool]
    # Whether each element of an array is used by the same thread in two steps.
    Own = Callable[[str, Step, Step], bool]

# A pointer that a step uses, whether it may write there, and the step; None if all threads read.
Use = tuple[str, bool, "Step | None"]


@dataclass(slots=True)
class Barriers:
    """The barriers of a kernel.

    Attributes
    ----------
    before : the identities of steps that a barrier precedes: of a launch or a copy; of a branch
        before its number is read, of a loop before its predicate is.
    """

    overlaps: Overlaps
    own: Own
    before: set[int] = field(default_factory=set[int])

    def after(self, steps: Sequence[Step], used: frozenset[Use]) -> frozenset[Use]:
        """The uses since the last barrier behind steps, of those before the steps."""
        for step in steps:
            match step:
                case While():
                    used = self._loop(step, used)
                case Branch(number, _, branches):
                    used = self._behind(step, [(str(number), False, None)], used)
                    used = frozenset[Use]().union(*(self.after(each, used) for each in branches))
                case _:
                    used = self._behind(step, uses(step), used)
        return used

    def _loop(self, loop: While, used: frozenset[Use]) -> frozenset[Use]:
        """The same for a loop, of which any iteration may be the last."""
        while True:
            asked = used
            if loop.trips is None:
                asked = self.after(loop.condition, used)
                asked = self._behind(loop, [(str(loop.predicate), False, None)], asked)
            again = used | self.after(loop.body, asked)
            if again == used:
                return asked
            used = again

    def _behind(self, step: Step, new: Iterable[Use], used: frozenset[Use]) -> frozenset[Use]:
        """The uses behind a step of new ones, before which there may be a barrier."""
        new = frozenset(new)
        if not any(self._clash(one, other) for one in new for other in used):
            return used | new
        self.before.add(id(step))
        return new

    def _clash(self, one: Use, other: Use) -> bool:
        """Whether two uses need a barrier between them."""
        if not (one[1] or other[1]) or not self.overlaps(one[0], other[0]):
            return False
        (pointer, _, step), (same, _, before) = one, other
        return pointer != same or not step or not before or not self.own(pointer, step, before)


def uses(step: Step) -> Iterator[Use]:
    """The pointers that a launch or a copy uses, before buffers are assigned."""
    match step:
        case Copy(target, source):
            yield from ((str(target), True, step), (str(source), False, step))
        case Launch(arguments=arguments, writes=writes):
            yield from ((str(a), w, step) for a, w in zip(arguments, writes, strict=True))
        case _:
            raise AssertionError(step)
