"""Random choices without repetition: enumerates all outcomes of a generator in random order.

A generator that draws from a `Tour` instead of `random.Random` makes another thing each time, in
random order, until there is nothing that it has not made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")


@dataclass
class Fork:
    """A choice.

    Attributes
    ----------
    left : the alternatives that may still lead to something new.
    behind : the next choice after each alternative that was taken.
    """

    left: list[int]
    behind: dict[int, Fork] = field(default_factory=dict[int, "Fork"])


class Tour(Random):
    """A source of choices for one thing after the other; `again` begins the next.

    What chooses by `random()` sees two numbers: one that is below all probabilities, and one that
    is above them.
    """

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self.order = Random(seed)
        self.root: Fork | None = None
        self.path: list[tuple[Fork, int]] = []
        self.started = False

    def again(self) -> bool:
        """Whether there is anything left to make."""
        # Close the steps that led to the last item, from its end on.
        while self.path:
            fork, taken = self.path.pop()
            after = fork.behind.get(taken)
            if after is None or not after.left:
                fork.left.remove(taken)
                fork.behind.pop(taken, None)
            if fork.left:
                break
        self.path = []
        fresh, self.started = not self.started, True
        return fresh or (self.root is not None and bool(self.root.left))

    def one_of(self, count: int) -> int:
        """A number below a count."""
        if count <= 1:
            return 0
        here = self.path[-1][0].behind.get(self.path[-1][1]) if self.path else self.root
        if here is None:
            here = Fork(list(range(count)))
            if self.path:
                fork, taken = self.path[-1]
                fork.behind[taken] = here
            else:
                self.root = here
        chosen = self.order.choice(here.left)
        self.path.append((here, chosen))
        return chosen

    def random(self) -> float:
        """Very little, or almost one."""
        return (0.01, 0.99)[self.one_of(2)]

    def choice(self, seq: Any) -> Any:
        """One of some things; equal ones count once."""
        different = distinct(seq)
        return different[self.one_of(len(different))]

    def randint(self, a: int, b: int) -> int:
        """A number from a to b."""
        return a + self.one_of(b - a + 1)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """A number of a range."""
        numbers = range(start) if stop is None else range(start, stop, step)
        return numbers[self.one_of(len(numbers))]

    def sample(self, population: Any, k: int, *, counts: Any = None) -> list[Any]:  # noqa: ARG002
        """Some things in some order."""
        left = list(population)
        return [left.pop(self.one_of(len(left))) for _ in range(k)]

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        """The mean, for random numbers are no choice of the solver's."""
        return mu + 0 * sigma

    def uniform(self, a: float, b: float) -> float:
        """The middle of the range, for random numbers are no choice of the solver's."""
        return (a + b) / 2


def distinct(items: Iterable[Item]) -> list[Item]:
    """Items without repeated ones, which print alike; so the two zeros differ."""
    return list({repr(item): item for item in items}.values())


def tours(seed: str, limit: int) -> Iterator[Tour]:
    """A tour again and again until it has been everywhere, at most so many times."""
    tour = Tour(seed)
    while limit and tour.again():
        yield tour
        limit -= 1
