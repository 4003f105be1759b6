"""Trip counts of loops, where they can be known.

    i = s32[] get-tuple-element(state), index=0        next = s32[] add(i, s32[] constant(2))
    ROOT go = pred[] compare(i, s32[] constant(9)), direction=LT

From an initial 0 this loop runs for 0, 2, 4, 6, 8: 5 times. Where the form is another one, the
induction variable alone is followed through some iterations by the interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo.attributes import Compare
from hlo.build import module
from hlo.effects import has_effect
from hlo.errors.error import HloError
from hlo.instruction import Computation
from hlo.verify import trust
from interpreter.engine.evaluate import evaluate
from optimizer.loops.state import element_of, elements_needed
from optimizer.rewriting.make import make, value_of

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.loops.state import Loop

# XLA follows a loop so far and no further.
MAX_ITERATIONS = 128
# The direction of b ? a, for the direction of a ? b.
SWAPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}


@dataclass(frozen=True)
class InductionVariable:
    """An integer that rises, or falls, by a constant, compared with a constant.

    Attributes
    ----------
    index : its element of the loop's state.
    direction, limit : the loop goes on while `value direction limit` holds.
    low, high : the least and the greatest number of its type.
    """

    index: int
    init: int
    step: int
    direction: str
    limit: int
    low: int
    high: int

    @property
    def trips(self) -> int | None:
        """The least k for which the condition fails for init + k * step.

        None if there is no such k before the number leaves its type's range and wraps around.
        """
        distance, step = self.limit - self.init, self.step
        if self.direction == "EQ":
            return 0 if distance else 1 if step else None
        if self.direction == "NE":
            meets = step != 0 and distance % step == 0 and distance // step > 0
            return 0 if not distance else distance // step if meets else None
        if self.direction in ("GT", "GE"):
            distance, step = -distance, -step
        if self.direction in ("LE", "GE"):
            distance += 1
        # Now the loop goes on while k * step < distance.
        if distance <= 0:
            return 0
        trips = -(-distance // step) if step > 0 else None
        return trips if trips is not None and self.low <= self.value(trips) <= self.high else None

    def value(self, k: int) -> int:
        """The value before iteration k."""
        return self.init + k * self.step


def induction_index(loop: Loop) -> int | None:
    """The one element that decides when the loop ends, if it depends on itself alone.

    References
    ----------
    XLA, `GetLoopInductionVarTupleIdx` in `xla/service/while_loop_analysis.cc`.
    """
    deciding = elements_needed(loop.condition, [loop.condition.root])
    if len(deciding) != 1:
        return None
    (index,) = deciding
    return index if elements_needed(loop.body, [loop.next[index]]) == {index} else None


def counter_of(loop: Loop) -> InductionVariable | None:
    """The counter that decides when a loop ends, if all of its numbers are constants.

    References
    ----------
    XLA, `MatchTrivialLoopTripCount` in `xla/service/while_loop_analysis.cc`.
    """
    index = induction_index(loop)
    if index is None or loop.condition.root.opcode != "compare":
        return None
    element_type = loop.instr.shape.elements[index].element_type
    first = loop.initial(index)
    init = None if first is None else number(first)
    step = step_of(loop, index)
    bound = bound_of(loop.condition, index)
    if init is None or step is None or bound is None:
        return None
    bits, signed = element_type.bits, element_type.kind == "signed"
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return InductionVariable(index, init, step, *bound, low, high)


def number(instr: Instruction) -> int | None:
    """The value of a scalar integer constant, or of a copy of one."""
    while instr.opcode == "copy":
        (instr,) = instr.operands
    value = value_of(instr)
    if value is None or instr.shape.dims or not instr.shape.element_type.is_integer:
        return None
    return int(value)


def step_of(loop: Loop, index: int) -> int | None:
    """By how much the body changes an element, if it adds or subtracts a constant."""
    state, update = loop.body.parameters[0], loop.next[index]
    if update.opcode not in ("add", "subtract"):
        return None
    left, right = update.operands
    if update.opcode == "add" and element_of(right, state) == index:
        left, right = right, left
    step = number(right)
    if element_of(left, state) != index or step is None:
        return None
    return step if update.opcode == "add" else -step


def bound_of(condition: Computation, index: int) -> tuple[str, int] | None:
    """The comparison of an element with a constant by a condition; None of any other."""
    state, (left, right) = condition.parameters[0], condition.root.operands
    direction = Compare.of(condition.root).direction
    if element_of(right, state) == index:
        left, right, direction = right, left, SWAPPED[direction]
    limit = number(right)
    return (direction, limit) if element_of(left, state) == index and limit is not None else None


def trip_count(loop: Loop, max_iterations: int = MAX_ITERATIONS) -> int | None:
    """The trip count of a loop.

    Parameters
    ----------
    max_iterations : so far the interpreter may follow it, if it is not plain arithmetic.

    References
    ----------
    XLA, `ComputeWhileLoopTripCount` in `xla/service/while_loop_analysis.cc`.
    """
    counter = counter_of(loop)
    if counter is not None and counter.trips is not None:
        return counter.trips
    if value_of(loop.condition.root) is not None:
        return None if value_of(loop.condition.root) else 0
    return followed(loop, max_iterations)


def followed(loop: Loop, max_iterations: int) -> int | None:
    """The trip count of a loop, found by running its induction variable alone."""
    index = induction_index(loop)
    first = None if index is None else loop.initial(index)
    value = None if first is None or first.shape.dims else value_of(first)
    if value is None or index is None:
        return None
    goes_on = alone(loop.condition, loop.condition.root)
    following = alone(loop.body, loop.next[index])
    if goes_on is None or following is None:
        return None
    test, advance = trust(module(goes_on)), trust(module(following))
    state: Any = value
    try:
        for iteration in range(max_iterations + 1):
            if not evaluate(test, state, max_iterations=max_iterations):
                return iteration
            state = evaluate(advance, state, max_iterations=max_iterations)
    except HloError:
        pass
    return None


def alone(computation: Computation, wanted: Instruction) -> Computation | None:
    """The part of a computation that makes one instruction of one element of the parameter.

    None if it is more than arithmetic on scalars.
    """
    state, needed = computation.parameters[0], {wanted}
    for instr in reversed(computation.instructions):
        if instr in needed and element_of(instr, state) is None:
            needed.update(instr.operands)
    argument: Instruction | None = None
    became: dict[Instruction, Instruction] = {}
    for instr in computation.instructions:
        if instr not in needed:
            continue
        if element_of(instr, state) is not None:
            argument = argument or make("parameter", shape=instr.shape, number=0)
            became[instr] = argument
        elif instr.shape.dims or instr.called or not is_known(instr):
            return None
        else:
            became[instr] = instr.with_(operands=tuple([became[o] for o in instr.operands]))
    body = tuple(dict.fromkeys(became.values()))
    return Computation(computation.name, body, became[wanted])


def is_known(instr: Instruction) -> bool:
    """Whether the value of an instruction follows from its operands alone."""
    return instr.row.pure and instr.opcode != "custom-call" and not has_effect(instr)
