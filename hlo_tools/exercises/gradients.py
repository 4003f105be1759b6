"""Exercises of chapter 17: tangents, transposes, cotangents and what a loop keeps."""

from __future__ import annotations

from math import isqrt
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.build import Builder, module
from hlo.instruction import Instruction
from hlo.types.element_type import F64
from hlo.types.shape import array
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.calls import ShownCall, compare_calls, same_items
from hlo_tools.exercises.exercise import Exercise, Submission
from hlo_tools.exercises.finding import Mistake, ResultTypeError
from interpreter.engine.evaluate import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hlo.instruction import Module
    from hlo_tools.exercises.exercise import SearchEffort

    HandBack = Callable[[str, float], Sequence[float]]
    Graph = Mapping[str, tuple[str, ...]]


def own_logistic_tangent(x: Instruction, y: Instruction, dx: Instruction) -> Instruction:
    """The tangent of y = logistic(x)."""
    del x
    return dx * (y * (1 - y))


@inside
def tangent_module(answer: Submission, name: str) -> Module:
    """The module of a rule: from x and dx to the tangent."""
    b = Builder("main")
    of = b.parameter(array(F64, ()), "x")
    change = b.parameter(array(F64, ()), "dx")
    value = b.add("logistic", of, name="y")
    with b:
        result = answer[name](of, value, change)
    if not isinstance(result, Instruction):
        raise ResultTypeError(result, "an instruction")
    return module(b.build(result))


def tangent_at(answer: Submission, name: str, x: float, dx: float) -> float:
    """The number that a rule gives at a point."""
    return float(evaluate(tangent_module(answer, name), np.float64(x), np.float64(dx)))


def check_tangent(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """The rule at some points, with some changes."""
    random = Random(0)
    points = [(0.0, 1.0), (1.0, 1.0), (0.0, 2.0), (-2.0, -0.5)]
    points += [(random.uniform(-6, 6), random.uniform(-2, 2)) for _ in range(effort.examples)]
    calls = [ShownCall(p, f"x = {p[0]:.4g}\ndx = {p[1]:.4g}") for p in points]
    name, own, show = "logistic_tangent", own_logistic_tangent, "{:.6g}".format
    return compare_calls(answer, name, own, calls, via=tangent_at, same=close, show=show)


def close(want: float, got: float) -> bool:
    """Two numbers that differ by rounding."""
    return abs(want - got) <= 1e-9 * max(1.0, abs(want))


def own_surrounding(size: int, start: int, limit: int, stride: int) -> tuple[int, int, int]:
    """The padding that puts the elements of a slice where they came from."""
    last = range(start, limit, stride)[-1]
    return start, size - 1 - last, stride - 1


def check_surrounding(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Slices of one dimension that take one element or more."""
    random = Random(0)
    calls: list[ShownCall] = []
    for _ in range(max(30, effort.examples)):
        size = random.randint(1, 12)
        start = random.randrange(size)
        arguments = size, start, random.randint(start + 1, size), random.randint(1, 4)
        shown = "size = {}, start = {}, limit = {}, stride = {}".format(*arguments)
        calls.append(ShownCall(arguments, shown))
    return compare_calls(answer, "surrounding", own_surrounding, calls, same=same_items, show=str)


def own_cotangents(graph: Graph, root: str, hand_back: HandBack) -> dict[str, float]:
    """Values from the last to the first: each hands its whole cotangent back, once."""
    sums = dict.fromkeys(graph, 0.0)
    sums[root] = 1.0
    for name in reversed(list(graph)):
        if sums[name]:
            for operand, part in zip(graph[name], hand_back(name, sums[name]), strict=True):
                sums[operand] += part
    return sums


def random_graph(random: Random, count: int) -> tuple[dict[str, tuple[str, ...]], dict[str, Any]]:
    """Values by their operands, and the factors by which each depends on them."""
    graph: dict[str, tuple[str, ...]] = {}
    factors: dict[str, list[float]] = {}
    for index in range(count):
        earlier = list(graph)
        operands = random.choices(earlier, k=random.randint(1, 2)) if index > 1 else []
        name = f"v{index}"
        graph[name] = tuple(operands)
        factors[name] = [float(random.choice((-2, -1, 1, 2, 3))) for _ in operands]
    return graph, factors


def check_cotangents(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random graphs, and one in which values are used twice at each of many steps."""
    calls: list[ShownCall] = []
    most: list[int] = [0]

    def counted(factors: Mapping[str, Sequence[float]]) -> HandBack:
        asked: dict[str, int] = {}

        def hand_back(name: str, cotangent: float) -> list[float]:
            asked[name] = asked.get(name, 0) + 1
            most[0] = max(most[0], asked[name])
            return [factor * cotangent for factor in factors[name]]

        return hand_back

    for seed in range(min(effort.examples, 60)):
        graph, factors = random_graph(Random(seed), 2 + seed // 4)
        rows = [f"  {n} = {graph_text(graph[n], factors[n])}" for n in graph]
        root = list(graph)[-1]
        calls.append(
            ShownCall(
                (graph, root, counted(factors)), "\n".join(["graph:", *rows, f"root: {root}"])
            )
        )
    # The project's own is asked too: it calls each function once more.
    mistake = compare_calls(answer, "cotangents", own_cotangents, calls, same=same_numbers_of)
    if mistake or most[0] <= TWICE:
        return mistake
    message = f"hand_back was called {most[0] - 1} times for one value, where once would do"
    return Mistake("weak", message)


# The project's own calls once, and the answer may.
TWICE = 2


def graph_text(operands: Sequence[str], factors: Sequence[float]) -> str:
    """A value as a sum of multiples of its operands."""
    if not operands:
        return "a parameter"
    return " + ".join(f"{factor:g} {name}" for name, factor in zip(operands, factors, strict=True))


def same_numbers_of(want: Mapping[str, float], got: Mapping[str, float]) -> bool:
    """Equal cotangents; one that is left out is 0."""
    return all(got.get(name, 0) == value for name, value in want.items())


def held(trips: int, distance: int) -> int:
    """The states that a loop holds at most if it keeps one in `distance`."""
    return -(-trips // distance) + distance


def own_distance(trips: int) -> int:
    """The best distance between kept states: near the square root."""
    return max(1, isqrt(trips))


def check_distance(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Each number of iterations, up to some hundreds."""
    trips = range(1, 30 + 4 * effort.examples)
    calls = [ShownCall((n,), f"trips = {n}") for n in trips]

    def judged(n: int) -> int:
        distance = answer["distance"](n)
        if not isinstance(distance, int):
            raise ResultTypeError(distance, "an int")
        return held(n, distance) if 1 <= distance <= n else -1

    watched = Submission({"distance": judged}, answer.path)

    def legal(_: int, got: int) -> bool:
        return got != -1

    def least(n: int) -> int:
        return held(n, own_distance(n))

    if mistake := compare_calls(watched, "distance", least, calls, same=legal, show=str):
        return mistake
    for n in trips:
        best, got = least(n), judged(n)
        if got > best:
            message = (
                f"distance is legal, but a loop of {n} iterations holds {got} states, not {best}"
            )
            return Mistake("weak", message)
    return None


EXERCISES = (
    Exercise(
        64, "the tangent of an opcode", 17, "easy",
        {"logistic_tangent": lambda: own_logistic_tangent},
        "optimizer/derivative/elementwise.py:OF_ONE", check_tangent,
    ),
    Exercise(
        65, "turn a slice around", 17, "medium",
        {"surrounding": lambda: own_surrounding},
        "optimizer/derivative/movement.py:slice_back", check_surrounding,
    ),
    Exercise(
        66, "go backwards through a graph", 17, "hard",
        {"cotangents": lambda: own_cotangents},
        "optimizer/derivative/transposition.py:cotangents", check_cotangents,
    ),
    Exercise(
        67, "keep fewer states", 17, "medium",
        {"distance": lambda: own_distance},
        "optimizer/derivative/loops.py:segment", check_distance,
    ),
)  # fmt: skip
