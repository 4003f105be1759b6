"""Exercises of chapter 18: cuts, sums in a ring, devices that wait, and a plan."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

from hlo_tools.exercises.calls import ShownCall, compare_calls, same_in_any_order, same_items
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.exercises.finding import Mistake, ResultTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_tools.exercises.exercise import SearchEffort, Submission

    # By device, the collectives that it joins, in order: each a name and the devices that must.
    Programs = Sequence[Sequence[tuple[str, tuple[int, ...]]]]

# Dimensions of operands and results: products of matrices, with a batch, and elementwise.
PRODUCTS = (
    ("mk", "kn", "mn"), ("bmk", "bkn", "bmn"), ("mk", "k", "m"), ("k", "k", ""),
    ("mn", "mn", "mn"), ("m", "n", "mn"), ("bk", "bkn", "nb"),
)  # fmt: skip


def own_division(left: str, right: str, result: str, cut: str) -> tuple[int | None, bool]:
    """The cut dimension of a result, and whether devices must add up."""
    if cut in result:
        return result.index(cut), False
    return None, cut in left + right


def check_division(answer: Submission, _: SearchEffort) -> Mistake | None:
    """Each dimension of some products."""
    calls = [
        ShownCall((*product, cut), f"{product[0]}, {product[1]} -> {product[2]}, cut along {cut}")
        for product in PRODUCTS
        for cut in sorted({*product[0], *product[1]})
    ]

    return compare_calls(answer, "division", own_division, calls, same=same_items, show=repr)


def own_ring_step(rank: int, devices: int, step: int) -> tuple[int, bool]:
    """The part that a device sends, and whether the receiver adds it."""
    adds = step < devices - 1
    return (rank - step + (0 if adds else devices)) % devices, adds


def check_ring(answer: Submission, _: SearchEffort) -> Mistake | None:
    """Rings of two to nine devices, in which every device holds other numbers."""
    for devices in range(2, 10):
        if problem := ring_mistake(answer["ring_step"], devices):
            return Mistake("wrong", f"ring_step gives a wrong result: {problem}")
    return None


def ring_mistake(ring_step: Any, devices: int) -> str | None:
    """The first sum that some device does not have after all steps; None if all are right."""
    # Each number is a power of two, so that a sum tells what was added.
    held = [[1 << device] * devices for device in range(devices)]
    for step in range(2 * (devices - 1)):
        sent: list[tuple[int, int, int, bool]] = []
        for rank in range(devices):
            part, adds = pair(ring_step(rank, devices, step))
            if part not in range(devices):
                return f"step {step} sends part {part} of {devices}"
            sent.append(((rank + 1) % devices, part, held[rank][part], adds))
        for receiver, part, number, adds in sent:
            held[receiver][part] = number + (held[receiver][part] if adds else 0)
    for device in range(devices):
        for part, number in enumerate(held[device]):
            if number != (1 << devices) - 1:
                return (
                    f"with {devices} devices, device {device} ends with part {part} = "
                    f"{added_up(number, devices)}, which should have each of {devices} once"
                )
    return None


def pair(result: Any) -> tuple[int, bool]:
    """The pair that a step must give."""
    try:
        part, adds = result
    except (TypeError, ValueError):
        raise ResultTypeError(result, "a pair") from None
    return part, bool(adds)


def added_up(number: int, devices: int) -> str:
    """A sum of the devices' numbers, as far as each is in it at most once."""
    if number >> devices:
        return "a sum that has some device's number twice"
    return "the sum of " + ", ".join(str(d) for d in range(devices) if number >> d & 1)


def own_stuck(programs: Programs) -> list[int]:
    """The devices that wait forever."""
    at = [0] * len(programs)

    def next_of(device: int) -> tuple[str, tuple[int, ...]] | None:
        return programs[device][at[device]] if at[device] < len(programs[device]) else None

    moving = True
    while moving:
        moving = False
        for device in range(len(programs)):
            waiting = next_of(device)
            if waiting and all(next_of(other) == waiting for other in waiting[1]):
                for other in waiting[1]:
                    at[other] += 1
                moving = True
    return [device for device in range(len(programs)) if next_of(device)]


def random_programs(random: Random) -> list[list[tuple[str, tuple[int, ...]]]]:
    """Collectives of a few devices, in one order; sometimes two change places, or one is left."""
    devices = random.randint(2, 4)
    programs: list[list[tuple[str, tuple[int, ...]]]] = [[] for _ in range(devices)]
    for number in range(random.randint(1, 4)):
        group = tuple(sorted(random.sample(range(devices), random.randint(2, devices))))
        for device in group:
            programs[device].append((f"sum{number}", group))
    broken = programs[random.randrange(devices)]
    if len(broken) > 1 and random.random() < 0.5:
        broken.reverse()
    elif broken and random.random() < 0.4:
        broken.pop(random.randrange(len(broken)))
    return programs


def check_stuck(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random programs of a few devices."""
    random, calls = Random(0), list[ShownCall]()
    for _ in range(max(60, effort.examples)):
        programs = random_programs(random)
        rows = [
            f"  device {device}: {', '.join(f'{name} of {group}' for name, group in joined)}"
            for device, joined in enumerate(programs)
        ]
        calls.append(ShownCall((programs,), "\n".join(["programs:", *rows])))

    return compare_calls(answer, "stuck", own_stuck, calls, same=same_in_any_order, show=repr)


def own_plan(work: Sequence[Sequence[int]], moves: Sequence[Sequence[int]]) -> list[int]:
    """The cheapest cuts: the best way to each cut of a layer follows from the layer before."""
    best = [(cost, [cut]) for cut, cost in enumerate(work[0])]
    for layer in work[1:]:
        best = [
            min((so_far + moves[cuts[-1]][cut] + cost, [*cuts, cut]) for so_far, cuts in best)
            for cut, cost in enumerate(layer)
        ]
    return min(best)[1]


def bytes_of(
    plan: Sequence[int], work: Sequence[Sequence[int]], moves: Sequence[Sequence[int]]
) -> int:
    """The bytes that devices exchange by a plan."""
    inside = sum(layer[cut] for layer, cut in zip(work, plan, strict=True))
    return inside + sum(moves[a][b] for a, b in pairwise(plan))


def check_plan(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Random layers; a plan must be as cheap as the best one, and found in time for many."""
    random = Random(0)
    for number in range(min(40, effort.examples) + 1):
        cuts, layers = random.randint(2, 4), 1 + number // 4 if number < 40 else 40
        work = [[random.randint(0, 9) for _ in range(cuts)] for _ in range(layers)]
        moves = [[0 if a == b else random.randint(1, 9) for b in range(cuts)] for a in range(cuts)]
        shown = f"work = {work}\nmoves = {moves}"
        calls = [ShownCall((work, moves), shown)]

        def legal(want: Sequence[int], got: Sequence[int], cuts: int = cuts) -> bool:
            return len(got) == len(want) and all(cut in range(cuts) for cut in got)

        if mistake := compare_calls(answer, "plan", own_plan, calls, same=legal, show=repr):
            return mistake
        got = bytes_of(answer["plan"](work, moves), work, moves)
        best = bytes_of(own_plan(work, moves), work, moves)
        if got > best:
            return Mistake("weak", f"plan moves {got} bytes where {best} would do", shown)
    return None


EXERCISES = (
    Exercise(
        68, "a rule of the partitioner", 18, "easy",
        {"division": lambda: own_division},
        "optimizer/partitioning/sharding_rules.py:_dot", check_division,
    ),
    Exercise(
        69, "add up in a ring", 18, "medium",
        {"ring_step": lambda: own_ring_step},
        "emit_c/executable/runtime/collectives.c:combine", check_ring,
    ),
    Exercise(
        70, "find the devices that wait forever", 18, "medium",
        {"stuck": lambda: own_stuck}, "interpreter/engine/lockstep.py:_deadlock", check_stuck,
    ),
    Exercise(
        71, "a plan that moves fewer bytes", 18, "hard",
        {"plan": lambda: own_plan}, "optimizer/partitioning/division.py:best_plan", check_plan,
    ),
)  # fmt: skip
