"""Exercises of the chapter on search: equal things, congruence, extraction, chains of products."""

from __future__ import annotations

from functools import cache
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, cast

from hlo_tools.exercises.calls import ShownCall, compare_calls
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.exercises.finding import Mistake
from hlo_tools.exercises.limits import CallTooLongError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hlo_tools.exercises.exercise import SearchEffort, Submission

    Node = tuple[Any, ...]


def own_groups(count: int, equal: Sequence[tuple[int, int]]) -> list[int]:
    """The least number that each number is equal to."""
    least = list(range(count))
    for one, other in equal:
        low, high = sorted((least[one], least[other]))
        least = [low if k == high else k for k in least]
    return least


def check_groups(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random pairs."""
    calls: list[ShownCall] = []
    for seed in range(effort.examples):
        random = Random(seed)
        count = random.randint(1, 8)
        equal = [tuple(random.choices(range(count), k=2)) for _ in range(random.randint(0, count))]
        calls.append(ShownCall((count, equal), f"groups({count}, {equal})"))
    return compare_calls(answer, "groups", own_groups, calls, show=repr)


def own_closure(nodes: Sequence[Node], equal: Sequence[tuple[int, int]]) -> list[int]:
    """The least number of an equal node, of each node."""
    pairs = list(equal)
    while True:
        least = own_groups(len(nodes), pairs)
        first: dict[Node, int] = {}
        keys: list[Node] = [(o, *(least[k] for k in operands)) for o, *operands in nodes]
        new = [(first.setdefault(key, k), k) for k, key in enumerate(keys)]
        new = [(one, other) for one, other in new if least[one] != least[other]]
        if not new:
            return least
        pairs += new


def check_closure(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random graphs, and a few pairs that are equal."""
    calls: list[ShownCall] = []
    for seed in range(effort.examples):
        random = Random(seed)
        nodes: list[Node] = [("x",), ("y",), ("z",)]
        for k in range(3, random.randint(5, 10)):
            opcode, count = random.choice((("negate", 1), ("add", 2)))
            nodes.append((opcode, *random.choices(range(k), k=count)))
        equal = [tuple(random.choices(range(len(nodes)), k=2)) for _ in range(random.randint(0, 2))]
        calls.append(ShownCall((nodes, equal), f"closure({nodes}, {equal})"))
    return compare_calls(answer, "closure", own_closure, calls, show=repr)


def own_prices(
    classes: Mapping[str, Sequence[Node]], price: Mapping[str, int]
) -> dict[str, int | None]:
    """The price of the cheapest form of each class; None if it has none that ends."""
    best: dict[str, float] = dict.fromkeys(classes, inf)
    changed = True
    while changed:
        changed = False
        for name, forms in classes.items():
            total = min(price[o] + sum(best[k] for k in below) for o, *below in forms)
            if total < best[name]:
                best[name], changed = total, True
    return {name: None if total == inf else int(total) for name, total in best.items()}


PRICE = {"x": 0, "negate": 1, "add": 2, "multiply": 5}
ARITY = {"x": 0, "negate": 1, "add": 2, "multiply": 2}


def check_prices(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random classes, some of which need themselves."""
    calls: list[ShownCall] = []
    for seed in range(effort.examples):
        random = Random(seed)
        names = list("abcdef")[: random.randint(1, 6)]
        classes: dict[str, list[Node]] = {}
        for name in names:
            opcodes = random.choices(list(PRICE), (1, 2, 2, 2), k=random.randint(1, 3))
            classes[name] = [(o, *random.choices(names, k=ARITY[o])) for o in opcodes]
        calls.append(ShownCall((classes, PRICE), f"prices({classes}, {PRICE})"))
    return compare_calls(answer, "prices", own_prices, calls, show=repr)


def own_least_work(sizes: Sequence[int]) -> int:
    """The least number of multiplications of a chain of matrices."""

    @cache
    def work(first: int, last: int) -> int:
        if last - first < 2:
            return 0
        ends = sizes[first] * sizes[last]
        return min(work(first, k) + work(k, last) + ends * sizes[k] for k in range(first + 1, last))

    return work(0, len(sizes) - 1)


def check_least_work(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random chains, at last one that is too long to try all orders."""
    calls: list[ShownCall] = []
    for seed in range(effort.examples):
        random = Random(seed)
        sizes = [random.choice((1, 2, 3, 5, 8, 64)) for _ in range(random.randint(2, 6))]
        calls.append(ShownCall((sizes,), f"least_work({sizes})"))
    mistake = compare_calls(answer, "least_work", own_least_work, calls, show=repr)
    if mistake:
        return mistake
    long = [1 + 7 * k % 13 for k in range(40)]
    call = ShownCall((CountedSizes(long),), f"least_work({long})")
    mistake = compare_calls(answer, "least_work", own_least_work, [call], show=repr)
    if mistake and "come to an end" in mistake.message:
        return Mistake("weak", "least_work takes too long", call.shown, mistake.location)
    return mistake


class CountedSizes(list[int]):
    """A list that counts how often it is read, its slices too, and stops at a million."""

    def __init__(self, sizes: Iterable[int], reads: Iterator[int] | None = None) -> None:
        super().__init__(sizes)
        self.reads = iter(range(1_000_000)) if reads is None else reads

    def __getitem__(self, place: Any) -> Any:
        """An element, or a slice that is counted together with the list."""
        if next(self.reads, None) is None:
            raise CallTooLongError
        value = cast("Any", super().__getitem__)(place)
        return CountedSizes(value, self.reads) if isinstance(place, slice) else value


EXERCISES: Sequence[Exercise] = (
    Exercise(
        52, "groups of equal things", 14, "easy",
        {"groups": lambda: own_groups}, "optimizer/identity.py:Identity", check_groups,
    ),
    Exercise(
        53, "draw conclusions from equal operands", 14, "medium",
        {"closure": lambda: own_closure}, "optimizer/identity.py:Identity.key", check_closure,
    ),
    Exercise(
        54, "the least price of each class", 14, "medium",
        {"prices": lambda: own_prices}, "optimizer/analysis/cost.py:cost", check_prices,
    ),
    Exercise(
        55, "the best order of a chain of products", 14, "hard",
        {"least_work": lambda: own_least_work},
        "optimizer/analysis/cost.py:operations", check_least_work,
    ),
)  # fmt: skip
