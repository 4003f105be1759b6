"""Exercises of chapter 19: keys of calls, a tracer, arguments that must be constant, clusters."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.operators import BUILDING, Operators
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.calls import ShownCall, compare_calls, same_in_any_order
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.exercises.finding import Mistake

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from hlo_tools.exercises.exercise import SearchEffort, Submission

    # A name, an opcode, and the names of operands.
    NamedStep = tuple[str, str, tuple[str, ...]]
    # A name, the names of operands, and whether it can be compiled.
    Operation = tuple[str, tuple[str, ...], bool]


def own_signature(arguments: Sequence[Any], constants: Collection[int]) -> Hashable:
    """The types and the sizes of arrays, and the values of the rest."""
    return tuple(key_of(a, is_constant=n in constants) for n, a in enumerate(arguments))


def key_of(argument: Any, *, is_constant: bool) -> Hashable:
    """The part of a key that an argument makes."""
    if not isinstance(argument, np.ndarray):
        return f"{type(argument).__name__} {argument!r}"
    array = cast("NDArray[Any]", argument)
    return array.dtype, array.shape, array.tobytes() if is_constant else b""


# Second arguments of calls; arrays of different types may have the same bytes.
SECOND = (
    np.array(2, np.int32), np.array(3, np.int32),
    np.zeros(2, np.int32), np.zeros(2, np.float32), np.zeros((2, 1), np.float32),
    np.ones(2, np.float32), 1, 2, 1.0, True, None, "sum", "max",
)  # fmt: skip


@inside
def is_one(
    answer: Submission, name: str, first: Any, second: Any, constants: Collection[int]
) -> bool:
    """Whether two calls have one key."""
    return len({answer[name](first, constants), answer[name](second, constants)}) == 1


def check_signature(answer: Submission, _: SearchEffort) -> Mistake | None:
    """Pairs of calls: whether both run one program."""
    x = np.zeros(2, np.float32)
    calls = [
        ShownCall(
            ((x, first), (x, second), constants),
            f"calls with {first!r} and {second!r}"
            + (", where the value must be constant" if constants else ""),
        )
        for first, second in [*combinations(SECOND, 2), *((a, a) for a in SECOND)]
        for constants in ((), (1,))
    ]

    def told(is_one: Any) -> str:
        return "one program" if is_one else "two programs"

    return compare_calls(answer, "signature", own_signature, calls, via=is_one, show=told)


class Placeholder(Operators):
    """A placeholder for a value, of which only the name is known."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class StepRecorder:
    """Writes down the steps that operators append."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.steps: list[tuple[Any, ...]] = []

    def number(self, number: Any, like: Any) -> Any:
        """A number, as it is."""
        del like
        return number

    def add(self, opcode: str, *operands: Any, **_: Any) -> Placeholder:
        """A step: its opcode, and names or numbers of operands."""
        names = (o.name if isinstance(o, Placeholder) else o for o in operands)
        self.steps.append((opcode, *names))
        return Placeholder(f"v{self.count + len(self.steps) - 1}")


def own_trace(function: Callable[..., Any], count: int) -> tuple[list[tuple[Any, ...]], str]:
    """The steps of a function of so many values, and the name of its result."""
    recorder = StepRecorder(count)
    token = BUILDING.set(recorder)
    try:
        result = function(*(Placeholder(f"v{n}") for n in range(count)))
    finally:
        BUILDING.reset(token)
    return recorder.steps, result.name


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": lambda x, y: x / y,
}  # fmt: skip


def random_function(random: Random) -> tuple[Callable[..., Any], int, str]:
    """A function of a few values, their count, and the text of the function."""
    count = random.randint(1, 3)
    names = [f"v{n}" for n in range(count)]
    arguments = ", ".join(names)
    lines: list[str] = []
    for _ in range(random.randint(0, 4)):
        value = random.choice(names)
        other = random.choice([*names, str(random.randint(2, 9))])
        operands = random.sample([value, other], 2)
        text = f" {random.choice(list(OPERATORS))} ".join(operands)
        lines.append(f"    v{len(names)} = {random.choice([text, text, f'-{value}'])}")
        names.append(f"v{len(names)}")
    text = "\n".join([f"def f({arguments}):", *lines, f"    return {random.choice(names)}"])
    return StraightLine([line.split() for line in lines], text.split()[-1]), count, text


@dataclass(frozen=True)
class StraightLine:
    """A function of some lines, such as `v2 = v0 + 3`, as words."""

    lines: Sequence[Sequence[str]]
    result: str

    def __call__(self, *values: Any) -> Any:
        """The result for some values."""
        known: dict[str, Any] = {f"v{n}": value for n, value in enumerate(values)}
        for name, _, first, *rest in self.lines:
            if rest:
                operands = (known[w] if w in known else int(w) for w in (first, rest[1]))
                known[name] = OPERATORS[rest[0]](*operands)
            else:
                known[name] = -known[first[1:]]
        return known[self.result]


def check_trace(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random functions of a few values."""
    random, calls = Random(0), list[ShownCall]()
    for _ in range(max(60, effort.examples)):
        function, count, text = random_function(random)
        calls.append(ShownCall((function, count), text))

    def same(want: Any, got: Any) -> bool:
        steps, result = got
        return [tuple(step) for step in steps] == want[0] and result == want[1]

    return compare_calls(answer, "trace", own_trace, calls, same=same, show=repr)


def own_must_be_constant(arguments: Sequence[str], steps: Sequence[NamedStep]) -> list[str]:
    """The arguments on whose values sizes depend."""
    needed: set[str] = set()
    for name, opcode, operands in reversed(steps):
        if opcode == "resize":
            needed.add(operands[1])
        if name in needed and opcode != "size":
            needed.update(operands)
    return [name for name in arguments if name in needed]


def random_steps(random: Random) -> tuple[list[str], list[NamedStep]]:
    """Arguments, and steps on them of which some make arrays of other sizes."""
    arguments = list("abcd"[: random.randint(1, 4)])
    names, steps = list(arguments), list[Any]()
    for number in range(random.randint(1, 6)):
        opcode = random.choice(("add", "resize", "size"))
        operands = tuple(random.choice(names) for _ in range(1 if opcode == "size" else 2))
        steps.append((f"v{number}", opcode, operands))
        names.append(f"v{number}")
    return arguments, steps


def check_must_be_constant(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random programs that make arrays of other sizes."""
    random, calls = Random(0), list[ShownCall]()
    for _ in range(max(60, effort.examples)):
        arguments, steps = random_steps(random)
        rows = [f"  {name} = {opcode}({', '.join(operands)})" for name, opcode, operands in steps]
        shown = "\n".join([f"arguments: {', '.join(arguments)}", *rows])
        calls.append(ShownCall((arguments, steps), shown))

    name, same = "must_be_constant", same_in_any_order
    return compare_calls(answer, name, own_must_be_constant, calls, same=same, show=repr)


def own_clusters(operations: Iterable[Operation]) -> list[int]:
    """The first cluster in which each operation can run, or after which Python can run it."""
    clusters: dict[str, tuple[int, bool]] = {}
    last = -1
    for name, operands, compiled in operations:
        before = (clusters[operand] for operand in operands)
        at = max((n + (compiled and not c) for n, c in before), default=-1)
        at = max(at, 0 if compiled else last)
        last = last if compiled else at
        clusters[name] = at, compiled
    return [at for at, _ in clusters.values()]


def are_in_order(operations: Sequence[Operation], numbers: Sequence[int]) -> bool:
    """Whether all operands are there in time, and calls of Python are in order."""
    at = dict(zip((name for name, _, _ in operations), numbers, strict=True))
    by_python = {name for name, _, compiled in operations if not compiled}
    in_time = all(
        at[name] >= at[operand] + (compiled and operand in by_python)
        for name, operands, compiled in operations
        for operand in operands
    )
    row = [at[name] for name, _, compiled in operations if not compiled]
    return in_time and row == sorted(row)


def compiled_clusters(operations: Sequence[Operation], numbers: Sequence[int]) -> int:
    """The number of clusters that are compiled."""
    return len({n for (_, _, compiled), n in zip(operations, numbers, strict=True) if compiled})


def check_clusters(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random graphs; the clusters must be legal, and as few as can be."""
    random = Random(0)
    for number in range(max(60, effort.examples)):
        operations: list[Operation] = []
        for place in range(2 + number // 15):
            operands = random.sample(range(place), min(place, random.randint(0, 2)))
            names = tuple(f"v{operand}" for operand in sorted(operands))
            operations.append((f"v{place}", names, random.random() < 0.6))
        shown = "\n".join(
            f"{name} = {'compiled' if compiled else 'python'}({', '.join(operands)})"
            for name, operands, compiled in operations
        )

        def legal(_: Any, got: Any, operations: list[Operation] = operations) -> bool:
            return are_in_order(operations, got)

        calls = [ShownCall((operations,), shown)]
        mistake = compare_calls(answer, "clusters", own_clusters, calls, same=legal, show=repr)
        if mistake:
            return mistake
        got = compiled_clusters(operations, answer["clusters"](operations))
        best = compiled_clusters(operations, own_clusters(operations))
        if got > best:
            return Mistake("weak", f"clusters compiles {got} clusters where {best} would do", shown)
    return None


EXERCISES = (
    Exercise(
        72, "one program or two?", 19, "easy",
        {"signature": lambda: own_signature},
        "hlo_tf/signature.py:signature", check_signature,
    ),
    Exercise(
        73, "a tracer", 19, "medium",
        {"trace": lambda: own_trace}, "hlo/operators.py:Operators", check_trace,
    ),
    Exercise(
        74, "arguments that must be constant", 19, "medium",
        {"must_be_constant": lambda: own_must_be_constant},
        "hlo_tf/bridge.py:_is_constant", check_must_be_constant,
    ),
    Exercise(
        75, "fewer clusters", 19, "hard",
        {"clusters": lambda: own_clusters}, "hlo_torch/segments.py:divide", check_clusters,
    ),
)  # fmt: skip
