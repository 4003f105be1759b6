"""Exercises of chapter 8: how often a loop runs, and what is the same in each of its iterations."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hlo_tools.exercises.answer_process import inside
from hlo_tools.exercises.calls import ShownCall, compare_calls
from hlo_tools.exercises.exercise import Exercise
from hlo_tools.exercises.finding import Mistake
from hlo_tools.exercises.passes import Demand, PassApart, wrong_pass
from optimizer.log import Log
from optimizer.loops import while_loop_invariant_code_motion as motion
from optimizer.loops.trip_count import InductionVariable
from optimizer.loops.while_loop_invariant_code_motion import WhileLoopInvariantCodeMotion

if TYPE_CHECKING:
    from collections.abc import Generator

    from hlo.instruction import Module
    from hlo_tools.exercises.exercise import SearchEffort, Submission


def own_trips(init: int, step: int, direction: str, limit: int) -> int | None:
    """The trip count of a loop over an s8 counter that never wraps around.

    The project counts one iteration of a loop that goes on while two numbers are equal, even if the
    counter wraps around in it.
    """
    counter = InductionVariable(0, init, step, direction, limit, -128, 127)
    trips = counter.trips
    return trips if trips is not None and -128 <= counter.value(trips) <= 127 else None


def check_trips(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """All directions, and starts, steps and limits at the ends of the range."""
    numbers = (-128, -5, -1, 0, 1, 2, 7, 126, 127)
    steps = (-3, -1, 0, 1, 2, 5)
    asked = list(itertools.product(numbers, steps, ("LT", "LE", "GT", "GE", "NE", "EQ"), numbers))
    if effort.examples < 50:
        asked = asked[::7]
    calls = [ShownCall(one, f"trips{one!r}") for one in asked]
    return compare_calls(answer, "trips", own_trips, calls, show=repr)


DECODING = Demand(
    """HloModule loop
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  e = f32[4] exponential(x)
  h = f32[4] sine(e)
  ROOT t = (s32[], f32[4]) tuple(next, x)
}
more {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  n = s32[] constant(3)
  ROOT go = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[4]) tuple(zero, x)
  ROOT w = (s32[], f32[4]) while(init), condition=more, body=body
}"""
)
HOISTED = Demand(
    """HloModule hoisted
body {
  s = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  y = f32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  e = f32[4] exponential(x)
  h = f32[4] sine(e)
  sum = f32[4] add(y, h)
  ROOT t = (s32[], f32[4], f32[4]) tuple(next, x, sum)
}
more {
  s = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT go = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[4], f32[4]) tuple(zero, x, y)
  ROOT w = (s32[], f32[4], f32[4]) while(init), condition=more, body=body
}"""
)


@contextmanager
def replaced(function: Any) -> Generator[None]:
    """Let the project's pass ask a student's function which instructions are invariant."""
    before = motion.invariants
    motion.invariants = function
    try:
        yield
    finally:
        motion.invariants = before


def check_invariants(answer: Submission, effort: SearchEffort) -> Mistake | None:
    """Hold the pass against the interpreter, and see that it hoists."""
    pass_, module = PassApart(answer, "invariants", hoisted), HOISTED.module()
    if mistake := left_inside(module, pass_.run(module, Log())):
        return mistake
    ours = WhileLoopInvariantCodeMotion()
    return wrong_pass(answer, pass_, effort, [DECODING, HOISTED], ours)


@inside
def hoisted(answer: Submission, name: str, module: Module, fuel: int | None) -> Module:
    """The module after the project's pass, which asks a student's function what is invariant."""

    def invariants(site: Any, ratio: float) -> dict[Any, None]:
        return dict.fromkeys(answer[name](site, ratio))

    with replaced(invariants):
        return WhileLoopInvariantCodeMotion().run(module, Log(fuel=fuel))


def left_inside(module: Module, after: Module) -> Mistake | None:
    """The mistake of an instruction that stays in the loop and need not."""
    body = next(i for i in after.entry.instructions if i.opcode == "while").called[1]
    left = [i for i in body.instructions if i.opcode in ("exponential", "sine")]
    if left:
        message = f"%{left[0].name} stays in the loop, though it is the same in every iteration"
        return Mistake("weak", message, f"{module}\n// after\n{after}")
    return None


EXERCISES = (
    Exercise(
        29, "count the iterations of a loop", 8, "medium",
        {"trips": lambda: own_trips}, "optimizer/loops/trip_count.py:InductionVariable.trips",
        check_trips,
    ),
    Exercise(
        30, "find what is the same in every iteration", 8, "hard",
        {"invariants": lambda: motion.invariants},
        "optimizer/loops/while_loop_invariant_code_motion.py:invariants", check_invariants,
    ),
)  # fmt: skip
