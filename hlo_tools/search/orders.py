"""Orders in which a search asks about candidates, whatever they are, and the judge that it asks.

| order | asks about | used by |
| --- | --- | --- |
| `first` | one after the other, until one is found | `hlo check`: modules |
| `downhill` | those that a candidate leads to, from the first found on | `hlo minimize`: cases |
| `halving` | the middle, then the middle of the half that is left | `hlo bisect`: rewrites |

`chunks` gives candidates for `downhill` in the order of delta debugging: a half of many things is
left out, then a quarter, and so on.

References
----------
A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Candidate = TypeVar("Candidate")
Finding = TypeVar("Finding")
Thing = TypeVar("Thing")


@dataclass
class Judge(Generic[Candidate, Finding]):
    """A question about candidates, with limits.

    Attributes
    ----------
    question : a candidate's finding; None if it is none to look for.
    watch : is told of each candidate with its finding.
    tries, deadline : so many questions, until so late on the clock; then nothing is found.
    text : of a candidate, about which nothing is asked again once it was refused; None if all are
        asked about.
    """

    question: Callable[[Candidate], Finding | None]
    watch: Callable[[Candidate, Finding | None], None] = lambda _, __: None
    tries: float = inf
    deadline: float = inf
    clock: Callable[[], float] = monotonic
    text: Callable[[Candidate], str] | None = None
    _refused: set[str] = field(default_factory=set[str])

    @property
    def is_spent(self) -> bool:
        """Whether a limit is reached."""
        return self.tries <= 0 or (self.deadline < inf and self.clock() > self.deadline)

    def __call__(self, candidate: Candidate) -> Finding | None:
        """The finding about a candidate; None if there is none, or too much was asked already."""
        if self.is_spent:
            return None
        text = self.text(candidate) if self.text is not None else None
        if text in self._refused:
            return None
        self.tries -= 1
        finding = self.question(candidate)
        if finding is None and text is not None:
            self._refused.add(text)
        self.watch(candidate, finding)
        return finding


def first(
    candidates: Iterable[Candidate], judge: Judge[Candidate, Finding]
) -> tuple[Candidate, Finding] | None:
    """The first candidate that has a finding, with this; None if no more are asked about."""
    for candidate in candidates:
        if (finding := judge(candidate)) is not None:
            return candidate, finding
        if judge.is_spent:
            return None
    return None


def downhill(
    start: Candidate,
    steps: Callable[[Candidate], Iterable[Candidate]],
    judge: Judge[Candidate, Finding],
) -> Candidate:
    """The last candidate of a way down: after each comes the first of its steps with a finding."""
    while (step := first(steps(start), judge)) is not None:
        start = step[0]
    return start


def halving(
    right: int, wrong: int, finding: Finding, judge: Judge[int, Finding]
) -> tuple[int, Finding]:
    """The least number after `right` from which on all have a finding, with this.

    Parameters
    ----------
    finding : about `wrong`.
    """
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if (verdict := judge(middle)) is None:
            right = middle
        else:
            wrong, finding = middle, verdict
    return wrong, finding


def chunks(things: Sequence[Thing], least: int) -> Iterator[Sequence[Thing]]:
    """The halves of many things, then their quarters, and so on down to a number of them."""
    size = len(things) // 2
    while size >= least:
        yield from (things[start : start + size] for start in range(0, len(things), size))
        size //= 2
