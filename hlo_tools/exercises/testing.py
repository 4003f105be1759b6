"""Exercises of the chapter on testing: numbers that tell, bisection, shrinking, a generator."""

from __future__ import annotations

from math import ceil, log2
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tools.exercises.calls import ShownCall, compare_calls
from hlo_tools.exercises.exercise import Exercise, Submission
from hlo_tools.exercises.finding import Mistake, raised, unwritten
from interpreter.engine.frame import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hlo_tools.exercises.exercise import SearchEffort

MOST_NUMBERS = 8
F = np.float32
ZERO, ONE = F(0), F(1)


def pairs(x: Any, y: Any) -> dict[str, tuple[Any, Any]]:
    """Results of functions that are often taken for one another."""
    return {
        "x + 0 and x": (x + ZERO, x),
        "x - x and 0": (x - x, np.full_like(x, 0)),
        "x / x and 1": (x / x, np.full_like(x, 1)),
        "x * 0 and 0": (x * ZERO, np.full_like(x, 0)),
        "-(x - y) and y - x": (-(x - y), y - x),
        "sqrt(x * x) and abs(x)": (np.sqrt(x * x), np.abs(x)),
        "x < y and not (x >= y)": (np.where(x < y, ONE, ZERO), np.where(x >= y, ZERO, ONE)),
        "(x + y) - y and x": ((x + y) - y, x),
        "(x * y) / y and x": ((x * y) / y, x),
        "x > 0 ? x : -x and abs(x)": (np.where(x > 0, x, -x), np.abs(x)),
        "x / 3 and x * (1 / 3)": (x / F(3), x * F(1 / 3)),
        "sign(x) and 1, or -1 below 0": (np.sign(x), np.where(x < 0, -ONE, ONE)),
        "min(x, y) and x < y ? x : y": (np.minimum(x, y), np.where(x < y, x, y)),
    }


NUMBERS = (0.0, -0.0, 1.0, -3.0, 1e-30, 3e38, np.inf, np.nan)


def check_numbers(answer: Submission, _: SearchEffort) -> Mistake | None:
    """Whether the numbers tell all pairs of functions apart."""
    numbers_given = answer["NUMBERS"]
    if numbers_given is None:
        return unwritten("NUMBERS")
    try:
        numbers = np.array(numbers_given, F).reshape(-1)
    except (TypeError, ValueError, OverflowError) as error:
        return raised("NUMBERS", error, answer.path)
    if len(numbers) > MOST_NUMBERS:
        message = f"NUMBERS has {len(numbers)} numbers, and {MOST_NUMBERS} are allowed"
        return Mistake("wrong", message)
    x, y = (grid.reshape(-1) for grid in np.meshgrid(numbers, numbers))
    with quiet():
        results = pairs(x, y)
    alike = [text for text, (first, second) in results.items() if are_same(first, second)]
    if alike:
        return Mistake("weak", f"NUMBERS does not tell {len(alike)} pairs apart", "\n".join(alike))
    return None


def are_same(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether two arrays are equal, with zeros of one sign; one NaN is as good as another."""
    nan = np.isnan(first) & np.isnan(second)
    return bool(((first == second) & (np.signbit(first) == np.signbit(second)) | nan).all())


def own_first_wrong(count: int, is_wrong: Callable[[int], bool]) -> int | None:
    """The first of `count` rewrites after which a program is wrong; None if it never is."""
    if not is_wrong(count):
        return None
    right, wrong = 0, count
    while wrong - right > 1:
        middle = (right + wrong) // 2
        right, wrong = (right, middle) if is_wrong(middle) else (middle, wrong)
    return wrong


class CountedRuns:
    """A program that is wrong from some rewrite on, and counts how often it is run."""

    def __init__(self, first: int | None) -> None:
        self.first, self.runs = first, 0

    def is_wrong(self, rewrites: int) -> bool:
        """Whether it is wrong after so many rewrites."""
        self.runs += 1
        return self.first is not None and rewrites >= self.first


def check_first_wrong(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """All places of a few rewrites, and random ones of many."""
    random = Random(0)
    cases = [(n, first) for n in range(1, 6) for first in (*range(1, n + 1), None)]
    cases += [(n := random.randint(6, 5000), random.randint(1, n)) for _ in range(effort.examples)]
    calls = [
        ShownCall((n, first), f"of {n} rewrites, {first or 'none'} is the first wrong one")
        for n, first in cases
    ]

    def on(function: Callable[..., Any]) -> Callable[..., Any]:
        def found(n: int, first: int | None) -> Any:
            return function(n, CountedRuns(first).is_wrong)

        return found

    watched = Submission({"first_wrong": on(answer["first_wrong"])}, answer.path)
    wrong = compare_calls(watched, "first_wrong", on(own_first_wrong), calls, show=repr)
    if wrong:
        return wrong
    for n, first in cases:
        program, most = CountedRuns(first), ceil(log2(n)) + 2
        answer["first_wrong"](n, program.is_wrong)
        if program.runs > most:
            message = f"first_wrong runs the program more than {most} times"
            return Mistake("weak", message, f"of {n} rewrites, {first} is the first wrong one")
    return None


def own_smallest(items: Sequence[Any], fails: Callable[[list[Any]], bool]) -> list[Any]:
    """Items that still fail, of which none can be left out."""
    left, size = list(items), len(items) // 2
    while size:
        at = 0
        while at < len(left):
            fewer = left[:at] + left[at + size :]
            left, at = (fewer, at) if fails(fewer) else (left, at + size)
        size //= 2
    for k in range(len(left)):
        fewer = left[:k] + left[k + 1 :]
        if fails(fewer):
            return own_smallest(fewer, fails)
    return left


class Faults:
    """A test that fails on lists with all items of some set, and counts how often it is run."""

    def __init__(self, sets: Sequence[frozenset[int]]) -> None:
        self.sets, self.runs = sets, 0

    def fails(self, items: Sequence[int]) -> bool:
        """Whether it fails."""
        self.runs += 1
        return any(needed <= set(items) for needed in self.sets)


def check_smallest(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random faults in lists of a few items, and two items of a thousand."""
    random = Random(0)
    for _ in range(max(60, effort.examples)):
        items = list(range(random.randint(1, 9)))
        sets = [
            frozenset(random.sample(items, random.randint(0, min(4, len(items)))))
            for _ in range(random.choice((1, 1, 2)))
        ]
        needed_sets = " or ".join(str(sorted(needed)) for needed in sets)
        shown = f"items = {items}\na list fails that has all of {needed_sets}"

        def is_least(_: Any, got: Any, sets: Sequence[frozenset[int]] = sets) -> bool:
            fails = Faults(sets).fails
            least = not any(fails([*got[:k], *got[k + 1 :]]) for k in range(len(got)))
            return fails(got) and least and list(got) == sorted(got)

        call = ShownCall((items, Faults(sets).fails), shown)
        mistake = compare_calls(answer, "smallest", own_smallest, [call], same=is_least, show=repr)
        if mistake:
            return mistake
    test = Faults([frozenset((300, 700))])
    answer["smallest"](list(range(1000)), test.fails)
    if test.runs > 500:
        message = "smallest runs the test more than 500 times"
        return Mistake("weak", message, "a list of 1,000 items fails that has all of [300, 700]")
    return None


# The operands and the result of each opcode.
TYPES = {
    "add": ("number", "number", "number"),
    "multiply": ("number", "number", "number"),
    "negate": ("number", "number"),
    "less": ("number", "number", "truth"),
    "and": ("truth", "truth", "truth"),
    "not": ("truth", "truth"),
    "select": ("truth", "number", "number", "number"),
}


def own_program(random: Random, size: int) -> list[tuple[Any, ...]]:
    """A random program without dead steps; values 0 and 1 are numbers, value 2 is a truth."""
    types = ["number", "number", "truth"]
    steps: list[tuple[Any, ...]] = []
    unused: list[int] = []
    for _ in range(size):
        opcode = random.choice(list(TYPES))
        *operands, result = TYPES[opcode]
        chosen: list[int] = []
        for wanted in operands:
            fitting = [n for n, t in enumerate(types) if t == wanted]
            fresh = [n for n in unused if types[n] == wanted and n not in chosen]
            chosen.append(random.choice(fresh or fitting))
        unused = [n for n in unused if n not in chosen] + [len(types)]
        steps.append((opcode, *chosen))
        types.append(result)
    return steps


def types_of(steps: Sequence[Sequence[Any]]) -> list[str] | str:
    """The types of all values; a text that says why a program is not well-typed."""
    types = ["number", "number", "truth"]
    for opcode, *operands in steps:
        if opcode not in TYPES:
            return f"there is no opcode {opcode!r}"
        *wanted, result = TYPES[opcode]
        if len(operands) != len(wanted):
            return f"{opcode} takes {len(wanted)} operands"
        for n, wanted_type in zip(operands, wanted, strict=True):
            if n not in range(len(types)):
                return f"value {n} is not there yet"
            if types[n] != wanted_type:
                return f"value {n} is a {types[n]}, and {opcode} wants a {wanted_type}"
        types.append(result)
    return types


def live_steps(steps: Sequence[Sequence[Any]]) -> int:
    """The number of steps that the last one needs, itself too."""
    needed = {len(steps) + 2}
    for n in range(len(steps) + 2, 2, -1):
        if n in needed:
            needed.update(steps[n - 3][1:])
    return sum(1 for n in needed if n > 2)


def check_program(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Whether programs are well-typed, use all opcodes, and have little dead code."""
    programs: list[list[Any]] = []
    for seed in range(max(100, effort.examples)):
        steps = list(answer["program"](Random(seed), 12))
        shown = "\n".join(f"value {n + 3} = {step}" for n, step in enumerate(steps))
        types = types_of(steps)
        if isinstance(types, str):
            return Mistake("wrong", f"program is not well-typed: {types}", shown)
        if len(steps) != 12:
            return Mistake("wrong", f"program has {len(steps)} steps instead of 12", shown)
        programs.append(steps)
    seen = {step[0] for steps in programs for step in steps}
    if seen != TYPES.keys():
        missing = ", ".join(sorted(TYPES.keys() - seen))
        return Mistake("weak", f"program never makes {missing}")
    if len({str(steps) for steps in programs}) < len(programs) // 2:
        return Mistake("weak", "program makes the same again and again")
    live = sum(map(live_steps, programs)) / sum(map(len, programs))
    if live < 0.5:
        message = f"program makes dead code: the last value needs {live:.0%} of all steps"
        return Mistake("weak", message)
    return None


EXERCISES = (
    Exercise(
        35, "eight numbers that tell functions apart", 10, "easy",
        {"NUMBERS": lambda: NUMBERS}, "hlo_tools/generate/values.py", check_numbers,
    ),
    Exercise(
        36, "find the first wrong rewrite", 10, "easy",
        {"first_wrong": lambda: own_first_wrong},
        "hlo_tools/step/stepper.py:Stepper.bisect", check_first_wrong,
    ),
    Exercise(
        37, "leave out what is not needed", 10, "medium",
        {"smallest": lambda: own_smallest}, "hlo_tools/search/shrink/shrink.py:shrink",
        check_smallest,
    ),
    Exercise(
        38, "a generator of programs", 10, "hard",
        {"program": lambda: own_program},
        "hlo_tools/generate/modules.py:random_module", check_program,
    ),
)  # fmt: skip
