"""Numbers of iterations of loops, where they can be known before they run.

Besides a single counter, as `optimizer.loops.trip_count` finds it, several scalars may decide
together: TensorFlow's loops end after a maximal number of iterations, or when a second counter has
reached its own. They are followed by the interpreter, without the rest of the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hlo.build import module
from hlo.errors.error import HloError
from hlo.verify import trust
from interpreter.engine.evaluate import evaluate
from optimizer.analysis.runs import noted_trips
from optimizer.derivative.bodies import computation
from optimizer.derivative.linearize import copies
from optimizer.loops.state import elements_needed, elements_taken
from optimizer.loops.trip_count import is_known, trip_count
from optimizer.rewriting.make import make, value_of

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from optimizer.loops.state import Loop

# So far a loop is followed whose counter is no plain arithmetic.
MOST_FOLLOWED = 1 << 12


def trips_of(loop: Loop) -> int | None:
    """The number of iterations of a loop; None if it is not known."""
    for trips in (trip_count(loop, MOST_FOLLOWED), noted_trips(loop.instr)):
        if trips is not None:
            return trips
    return followed_together(loop)


def followed_together(loop: Loop) -> int | None:
    """The number of iterations, by running all elements of the state that decide it."""
    deciding = elements_needed(loop.condition, [loop.condition.root])
    while True:
        needed = elements_needed(loop.body, [loop.next[k] for k in deciding])
        if needed <= deciding:
            break
        deciding |= needed
    order = sorted(deciding)
    starts = [loop.initial(k) for k in order]
    values = [None if x is None or x.shape.dims else value_of(x) for x in starts]
    if any(value is None for value in values):
        return None
    parameters = [
        make("parameter", shape=loop.instr.shape.elements[k], number=n) for n, k in enumerate(order)
    ]
    known = dict(zip(order, parameters, strict=True))
    (goes_on,) = on_scalars(loop.condition, [loop.condition.root], known)
    following = on_scalars(loop.body, [loop.next[k] for k in order], known)
    step = computation("step", parameters, make("tuple", goes_on, *following))
    if not all(i.opcode == "parameter" or is_plain(i) for i in step.instructions):
        return None
    run = trust(module(step))
    state = cast("list[Any]", values)
    try:
        for iteration in range(MOST_FOLLOWED + 1):
            more, *state = evaluate(run, *state)
            if not more:
                return iteration
    except HloError:
        pass
    return None


def on_scalars(
    body: Computation, roots: list[Instruction], known: dict[int, Instruction]
) -> list[Instruction]:
    """Instructions of a computation on some elements of its parameter."""
    taken = elements_taken(body)
    return copies(roots, {i: known[k] for i, k in taken.items() if k in known})


def is_plain(instr: Instruction) -> bool:
    """Whether an instruction computes a scalar from others, or is the tuple of all of them."""
    return (
        not instr.called and is_known(instr) and (instr.opcode == "tuple" or not instr.shape.dims)
    )
