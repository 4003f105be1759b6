"""Exercises of the chapter on analyses: joins, live elements, a solver, intervals."""

from __future__ import annotations

from collections import deque
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tools.exercises.calls import ShownCall, compare_calls
from hlo_tools.exercises.exercise import Exercise, Submission
from hlo_tools.exercises.finding import Mistake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from hlo_tools.exercises.exercise import SearchEffort

    Transfer = Callable[[Any, Mapping[Any, Any]], Any]
    Interval = tuple[int, int]

UNSEEN, VARIES = "unseen", "varies"


def own_join(first: Any, second: Any) -> Any:
    """The fact about a value that is described by either of two facts."""
    if UNSEEN in (first, second):
        return second if first == UNSEEN else first
    return first if key_of(first) == key_of(second) else VARIES


def key_of(fact: Any) -> tuple[str, bytes | str]:
    """Equal for numbers of one type that have the same bits."""
    return ("", fact) if isinstance(fact, str) else (str(fact.dtype), fact.tobytes())


FACTS = (
    UNSEEN, VARIES, np.int32(0), np.int32(3), np.float32(0), np.float32("-0"), np.float32(3),
    np.float32("nan"), np.float64(3), np.bool_(True), np.bool_(False),
)  # fmt: skip


def check_join(answer: Submission, _: SearchEffort) -> Mistake | None:
    """All pairs of facts."""
    calls = [ShownCall(pair, f"join({pair[0]!r}, {pair[1]!r})") for pair in product(FACTS, FACTS)]

    def same(want: Any, got: Any) -> bool:
        return key_of(want) == key_of(got)

    return compare_calls(answer, "join", own_join, calls, same=same, show=repr)


def own_live_elements(
    after: AbstractSet[int], decides: AbstractSet[int], reads: Sequence[AbstractSet[int]]
) -> set[int]:
    """The elements of a loop's state that its result needs, or its end."""
    live = set[int]()
    waiting = [*after, *decides]
    while waiting:
        element = waiting.pop()
        if element not in live:
            live.add(element)
            waiting += reads[element]
    return live


def check_live_elements(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random loops of a few elements."""
    random, calls = Random(0), list[ShownCall]()
    for number in range(max(80, effort.examples)):
        size = 1 + number // 16
        elements = range(size)
        some = [
            {e for e in elements if random.random() < chance}
            for chance in (0.2, 0.2, *[0.35] * size)
        ]
        after, decides, *reads = some
        shown = f"live_elements(after={after}, decides={decides}, reads={reads})"
        calls.append(ShownCall((after, decides, reads), shown.replace("set()", "{}")))
    return compare_calls(
        answer,
        "live_elements",
        own_live_elements,
        calls,
        same=lambda want, got: set(got) == want,
        show=lambda live: repr(sorted(live)),
    )


def own_solve(
    nodes: Iterable[Any], transfer: Transfer, readers: Mapping[Any, Iterable[Any]], first: Any
) -> dict[Any, Any]:
    """The least facts that agree with each other."""
    facts = dict.fromkeys(nodes, first)
    waiting = deque(facts)
    while waiting:
        node = waiting.popleft()
        fact = transfer(node, facts)
        if fact != facts[node]:
            facts[node] = fact
            waiting.extend(readers.get(node, ()))
    return facts


class Reaching:
    """A graph in which each node has the names that its sources have, and perhaps its own.

    Attributes
    ----------
    reads : the sources of each node, in the order in which the nodes are given.
    named : the nodes that add their own name.
    calls : how often a fact was computed.
    """

    def __init__(self, reads: Mapping[str, Sequence[str]], named: Iterable[str]) -> None:
        self.reads, self.named, self.calls = reads, set(named), 0
        self.readers = {n: [r for r in reads if n in reads[r]] for n in reads}

    def transfer(self, node: str, facts: Mapping[str, frozenset[str]]) -> frozenset[str]:
        """The names that reach a node."""
        self.calls += 1
        return frozenset(({node} & self.named).union(*(facts[s] for s in self.reads[node])))

    def solved_by(self, solve: Callable[..., Any]) -> dict[str, frozenset[str]]:
        """The facts that a solver finds."""
        return dict(solve(list(self.reads), self.transfer, self.readers, frozenset()))


def check_solve(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random graphs with circles, and a long chain whose nodes come in the wrong order."""
    random, calls = Random(0), list[ShownCall]()
    for number in range(max(60, effort.examples)):
        names = "abcdefgh"[: 2 + number // 20]
        reads = {n: [m for m in names if random.random() < 0.3] for n in names}
        shown = "\n".join(f"{n} reads {', '.join(reads[n]) or 'nothing'}" for n in names)
        calls.append(ShownCall((reads,), shown))

    def on(solve: Callable[..., Any]) -> Callable[..., Any]:
        def facts(reads: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
            return Reaching(reads, reads).solved_by(solve)

        return facts

    watched = Submission({"solve": on(answer["solve"])}, answer.path)
    mistake = compare_calls(watched, "solve", on(own_solve), calls, show=shown_letters)
    if mistake:
        return mistake
    # A list of waiting nodes computes 2 facts a node, sweeps half the square.
    chain = {f"v{n}": [f"v{n - 1}"] if n else [] for n in reversed(range(100))}
    theirs, own = (Reaching(chain, ["v0"]) for _ in range(2))
    theirs.solved_by(answer["solve"])
    own.solved_by(own_solve)
    if theirs.calls > 4 * own.calls:
        message = f"solve computes {theirs.calls:,} facts where {own.calls:,} would do"
        return Mistake("weak", message, "v99 reads v98, v98 reads v97, ..., and v0 reads nothing")
    return None


def shown_letters(facts: Mapping[str, frozenset[str]]) -> str:
    """The names that reach each node, on one line."""
    return "  ".join(f"{node}: {''.join(sorted(fact)) or '-'}" for node, fact in facts.items())


LOW, HIGH = -128, 127
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply,
    "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip


def own_interval(opcode: str, first: Interval, second: Interval) -> Interval:
    """The least interval of s8 that has all results, by trying all numbers."""
    (x, y) = (np.arange(low, high + 1) for low, high in (first, second))
    values = OPERATIONS[opcode](x[:, None], y[None, :])
    wrapped = (values - LOW) % 256 + LOW
    return int(wrapped.min()), int(wrapped.max())


def check_interval(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Intervals at the ends of the type, and random ones."""
    random, calls = Random(0), list[ShownCall]()
    ends = (LOW, LOW + 1, -2, -1, 0, 1, 2, HIGH - 1, HIGH)
    pairs = [(low, high) for low in ends for high in ends if low <= high]
    for _ in range(10 * max(60, effort.examples)):
        opcode = random.choice(list(OPERATIONS))
        pair = tuple(random.choice(pairs) for _ in range(2))
        calls.append(ShownCall((opcode, *pair), f"interval({opcode!r}, {pair[0]}, {pair[1]})"))

    def sound(want: Interval, got: Any) -> bool:
        return LOW <= got[0] <= want[0] and want[1] <= got[1] <= HIGH

    name = "interval"
    mistake = compare_calls(answer, name, own_interval, calls, same=sound, show=repr)
    if mistake:
        return mistake

    def as_small(want: Interval, got: Any) -> bool:
        return tuple(got) == want

    without_wrap = [call for call in calls if stays(*call.arguments)]
    mistake = compare_calls(answer, name, own_interval, without_wrap, same=as_small, show=repr)
    return mistake and Mistake("weak", "interval is too large", mistake.shown, mistake.location)


def stays(opcode: str, first: Interval, second: Interval) -> bool:
    """Whether no result leaves the type."""
    values = [OPERATIONS[opcode](x, y) for x, y in product(first, second)]
    return min(values) >= LOW and max(values) <= HIGH


EXERCISES = (
    Exercise(
        31, "join two facts", 9, "easy",
        {"join": lambda: own_join}, "hlo/types/literal.py:Literal.__eq__", check_join,
    ),
    Exercise(
        32, "find the live elements of a loop", 9, "medium",
        {"live_elements": lambda: own_live_elements},
        "optimizer/loops/elements.py:live_elements", check_live_elements,
    ),
    Exercise(
        33, "a solver", 9, "medium",
        {"solve": lambda: own_solve}, "optimizer/analysis/dataflow.py:Dataflow", check_solve,
    ),
    Exercise(
        34, "intervals that wrap around", 9, "hard",
        {"interval": lambda: own_interval},
        "optimizer/number_guards.py:is_non_negative", check_interval,
    ),
)  # fmt: skip
