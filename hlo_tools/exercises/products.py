"""Exercises of the chapter on products: the roofline, panels, and iterations that are jammed."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import isclose
from random import Random
from typing import TYPE_CHECKING, Any

from codegen.elements.constants import Constants
from codegen.elements.kernel import Scope
from codegen.expressions import Load, Name
from codegen.interpret import final_memory
from codegen.printer import text
from codegen.schedule.unroll_and_jam import unroll_and_jam
from codegen.statements import Assign, For, Let, LocalVariable, nested
from emit_c.code.names import CNames
from emit_c.kernels.kernel import CKernel
from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.calls import ShownCall, compare_calls, same_truth
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.exercises.finding import Mistake, ResultTypeError, raised

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from hlo_tools.exercises.exercise import SearchEffort, Submission

    Factors = tuple[int, int, int]

JAMMED = "jammed"


def own_least_seconds(
    rows: int, inner: int, columns: int, bytes_per_second: float, flops_per_second: float
) -> float:
    """The roofline of a product of f32."""
    numbers = rows * inner + inner * columns + rows * columns
    operations = 2 * rows * inner * columns
    return max(4 * numbers / bytes_per_second, operations / flops_per_second)


def check_least_seconds(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random products, on machines of all kinds."""
    calls: list[ShownCall] = []
    for seed in range(effort.examples):
        random = Random(seed)
        arguments = (*random.choices((1, 4, 10, 100, 1000), k=3), *random.choices((1e9, 1e11), k=2))
        calls.append(ShownCall(arguments, f"least_seconds{arguments}"))
    same = partial(isclose, rel_tol=1e-9)
    return compare_calls(answer, "least_seconds", own_least_seconds, calls, same=same, show=repr)


def own_place(row: int, column: int, rows: int, columns: int, width: int) -> int:
    """The place of an element of a matrix that is packed into panels."""
    first = column // width * width
    return first * rows + row * min(width, columns - first) + column - first


def check_place(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random elements of random matrices; in half of them, the last panel is narrow."""
    calls: list[ShownCall] = []
    for seed in range(effort.examples):
        random = Random(seed)
        rows, width = random.randint(1, 5), random.randint(1, 4)
        columns = width * random.randint(1, 3) + random.choice((0, random.randrange(width)))
        arguments = (random.randrange(rows), random.randrange(columns), rows, columns, width)
        calls.append(ShownCall(arguments, f"place{arguments}"))
    return compare_calls(answer, "place", own_place, calls, show=repr)


def _in_order(turns: Iterator[tuple[int, int]], store: Factors, load: Factors) -> dict[int, Any]:
    """The accesses to each element, in their order: who stores, and who loads since then."""
    accesses_by_address: dict[int, list[Any]] = {}
    for i, j in turns:
        for (p, q, r), is_store in ((load, False), (store, True)):
            accesses = accesses_by_address.setdefault(p * i + q * j + r, [set()])
            if is_store:
                accesses += [(i, j), set()]
            else:
                accesses[-1].add((i, j))
    return accesses_by_address


def own_may_jam(rows: int, columns: int, times: int, store: Factors, load: Factors) -> bool:
    """Whether all accesses that must keep their order do."""
    blocks = (range(i, min(i + times, rows)) for i in range(0, rows, times))
    jammed = ((i, j) for block in blocks for j in range(columns) for i in block)
    plain = product(range(rows), range(columns))
    return _in_order(plain, store, load) == _in_order(jammed, store, load)


def check_may_jam(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random nests of two loops."""
    calls: list[ShownCall] = []
    for seed in range(2 * effort.examples):
        random = Random(seed)
        rows, columns, times = random.choice((4, 6)), random.randint(1, 4), random.choice((2, 3))
        store, load = (
            (random.choice((0, 1, 3, 4)), random.choice((0, 1, 1, -1)), random.randint(3, 6))
            for _ in range(2)
        )
        arguments = (rows, columns, times, store, load)
        calls.append(ShownCall(arguments, f"may_jam{arguments}"))
    return compare_calls(answer, "may_jam", own_may_jam, calls, same=same_truth, show=repr)


def nests() -> Iterator[tuple[For, int]]:
    """Nests whose iterations may be jammed, and how many at once."""
    i, j, k, t = map(Name, "ijkt")
    x, y, z = map(Name, "xyz")
    value = Let("f32", "v", Load(x, i))
    total = LocalVariable("f32", "t", Load(x, i))
    add_up = For("k", 3, (Let("f32", "e", Load(x, i * 3 + k)), Assign(t, t + Name("e"))))
    copy = For("j", 2, (Assign(Load(y, i * 2 + j), Load(x, j)),))
    deep = For("j", 2, (total, add_up, Assign(Load(y, i * 2 + j), t)))
    yield For("i", 4, (value, Assign(Load(y, i), Name("v") + Name("v")))), 2
    yield For("i", 6, (total, add_up, Assign(Load(y, i), t))), 3
    yield For("i", 4, (total, copy, add_up, Assign(Load(z, i), t))), 2
    yield For("i", 4, (value, deep, Assign(Load(z, i), Name("v")))), 2


def own_jammed(body: Body, loop: For, times: int) -> For:
    """The project's own, of loops without a rest."""
    (jammed,) = unroll_and_jam(body, loop, times)
    assert isinstance(jammed, For)
    return jammed


@inside
def left_by(answer: Submission, name: str, loop: For, times: int) -> tuple[str, int, Any]:
    """The loops that a student makes, as text; how many they are; and what they leave in memory."""
    result = answer[name](CKernel(Constants(CNames()), Scope()).body, loop, times)
    if not isinstance(result, For):
        raise ResultTypeError(result, "a loop")
    count = sum(isinstance(s, For) for s in nested([result]))
    return text([result]), count, final_memory([result])


def check_jammed(answer: Submission, _: SearchEffort) -> Mistake | None:
    """Nests before and after, run by an interpreter of loops."""
    for loop, times in nests():
        shown = f"// {times} at once\n{text([loop])}"
        try:
            yours, count, memory = left_by(answer, JAMMED, loop, times)
        except Exception as error:
            return raised(JAMMED, error, answer.path, shown)
        shown = f"{shown}\n// yours\n{yours}".rstrip()
        wanted = sum(isinstance(s, For) for s in nested([loop]))
        if memory != final_memory([loop]):
            return Mistake("wrong", f"{JAMMED} leaves something else in memory", shown)
        if count > wanted:
            return Mistake("weak", f"{JAMMED} leaves {count} loops where {wanted} would do", shown)
    return None


EXERCISES: Sequence[Exercise] = (
    Exercise(
        48, "the roofline of a product", 13, "easy",
        {"least_seconds": lambda: own_least_seconds},
        "emit_c/executable/profile.py:Roofline.seconds", check_least_seconds,
    ),
    Exercise(
        49, "find an element in its panel", 13, "medium",
        {"place": lambda: own_place}, "codegen/schedule/stage.py:loading", check_place,
    ),
    Exercise(
        50, "may rows be jammed?", 13, "medium",
        {"may_jam": lambda: own_may_jam},
        "codegen/schedule/legality.py:expect_jammable", check_may_jam,
    ),
    Exercise(
        51, "unroll and jam", 13, "hard",
        {JAMMED: lambda: own_jammed},
        "codegen/schedule/unroll_and_jam.py:unroll_and_jam", check_jammed,
    ),
)  # fmt: skip
