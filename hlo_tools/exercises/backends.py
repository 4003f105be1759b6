"""Exercises of chapter 15: opcodes in NumPy as HLO has them, and a test of a backend."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.element_type import F32, S8
from hlo.types.shape import array
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.calls import ShownCall, compare_calls
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.generate.values import nasty, specials
from interpreter.conversion import saturated
from interpreter.numbers.compare import compare
from interpreter.numbers.floats import maximum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hlo_tools.exercises.exercise import SearchEffort, Submission
    from hlo_tools.exercises.finding import Mistake

    Array = NDArray[Any]


def same_bits(want: Array, got: Array) -> bool:
    """Equal arrays of one type, and zeros of one sign."""
    return compare(np.asarray(got), np.asarray(want)) is None


def check_maximum(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Pairs of special numbers, and random ones."""
    random, row = Random(0), specials(F32)
    calls = [
        ShownCall((np.array([x]), np.array([y])), f"x = [{x}]\ny = [{y}]") for x in row for y in row
    ]
    for _ in range(effort.examples):
        x, y = (nasty(array(F32, (3,)), random) for _ in range(2))
        calls.append(ShownCall((x, y), f"x = {x}\ny = {y}"))
    return compare_calls(answer, "maximum", maximum, calls, same=same_bits, show=str)


def own_broadcast(x: Array, dims: Sequence[int], dimensions: Sequence[int]) -> Array:
    """The dimensions of the operand in the order of the result, and others of size 1 between."""
    ascending = x.transpose(np.argsort(np.asarray(dimensions, int)))
    inner = [n if d in dimensions else 1 for d, n in enumerate(dims)]
    return np.broadcast_to(ascending.reshape(inner), dims)


def check_broadcast(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Arrays of up to three dimensions, put anywhere."""
    random = Random(0)
    calls: list[ShownCall] = []
    for _ in range(max(60, effort.examples)):
        dims = tuple(random.randint(1, 3) for _ in range(random.randint(1, 4)))
        dimensions = tuple(random.sample(range(len(dims)), random.randint(0, min(3, len(dims)))))
        sizes = tuple(dims[d] for d in dimensions)
        x = np.arange(int(np.prod(sizes)), dtype=np.float32).reshape(sizes)
        shown = f"x = {x.tolist()}\ndims = {dims}, dimensions = {dimensions}"
        calls.append(ShownCall((x, dims, dimensions), shown))
    return compare_calls(answer, "broadcast", own_broadcast, calls, same=same_bits, show=shown_list)


def shown_list(x: Array) -> str:
    """An array in a line."""
    return str(np.asarray(x).tolist())


def own_to_s8(x: Array) -> Array:
    """Floats as s8: truncated, those beyond the range at its ends, NaN as 0."""
    return saturated(x, S8)


def check_to_s8(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Special numbers one by one, and numbers around the ends."""
    random = Random(0)
    numbers = [*specials(F32), *(random.uniform(-300, 300) for _ in range(effort.examples))]
    calls = [ShownCall((np.array([x], np.float32),), f"x = [{np.float32(x)}]") for x in numbers]
    return compare_calls(answer, "to_s8", own_to_s8, calls, same=same_bits, show=shown_list)


def own_results_stay(call: Callable[[Array], Array], first: Array, second: Array) -> bool:
    """Whether a result is as it was, after enough calls for any rotation of few buffers."""
    result = call(first)
    before = result.copy()
    for _ in range(BUFFERS):
        call(second)
    return bool(np.array_equal(result, before))


# Backends turn between so many buffers at most.
BUFFERS = 8


def turning(buffers: int) -> Callable[[Array], Array]:
    """A module that doubles, whose results lie in several buffers in turn; in new ones for 0."""
    buffers_used: list[Array] = []

    def call(x: Array) -> Array:
        if len(buffers_used) < buffers or not buffers:
            buffers_used.append(x * 2)
            return buffers_used[-1]
        buffers_used.append(buffers_used.pop(0))
        buffers_used[-1][...] = x * 2
        return buffers_used[-1]

    return call


@inside
def stay_in_turn(answer: Submission, name: str, buffers: int) -> Any:
    """What a test finds of a module whose results lie in so many buffers, which both share."""
    first, second = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    return answer[name](turning(buffers), first, second)


def check_results_stay(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Backends that turn between some buffers, and one that makes new ones."""
    del effort
    calls: list[ShownCall] = []
    for buffers in (0, 1, 2, 3):
        where = f"in {buffers} buffers in turn" if buffers else "in new memory"
        calls.append(ShownCall((buffers,), f"results lie {where}"))
    name, own = "results_stay", own_results_stay
    return compare_calls(answer, name, own, calls, via=stay_in_turn, show=str)


EXERCISES = (
    Exercise(
        56, "the larger of two numbers", 15, "easy",
        {"maximum": lambda: maximum},
        "interpreter/numbers/floats.py:maximum", check_maximum,
    ),
    Exercise(
        57, "broadcast in any order", 15, "medium",
        {"broadcast": lambda: own_broadcast},
        "interpreter/movement.py:evaluate_broadcast", check_broadcast,
    ),
    Exercise(
        58, "from f32 to s8", 15, "medium",
        {"to_s8": lambda: own_to_s8},
        "interpreter/conversion.py:saturated", check_to_s8,
    ),
    Exercise(
        59, "do results stay?", 15, "hard",
        {"results_stay": lambda: own_results_stay},
        "hlo_tools/conformance/behaviours.py:results_stay", check_results_stay,
    ),
)  # fmt: skip
