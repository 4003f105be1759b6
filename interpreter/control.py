"""Opcodes that decide which computation runs, or how often; and computations that run meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.errors.error import HloError
from interpreter.idle_loops import is_idle
from interpreter.plumbing import CONTEXT
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

    Array = NDArray[Any]


@evaluates("call", "fusion", xla="Call, Fusion")
def evaluate_call(frame: Frame, instr: Instruction, _attrs: a.Attrs, *operands: Value) -> Value:
    """Run a computation. What kind of kernel a fusion becomes does not change what it means."""
    return frame.call(instr.called[0], *operands)


@evaluates("conditional", xla="Conditional")
def evaluate_conditional(
    frame: Frame, instr: Instruction, _attrs: a.Attrs, index: Value, *operands: Value
) -> Value:
    """Run one of several computations, on its own operand.

    Parameters
    ----------
    index : a pred, which chooses the first computation where it holds and else the second; or an
        s32, for which every number out of range stands for the last computation.
    operands : one a computation.
    """
    last = len(instr.called) - 1
    chosen = (0 if index else 1) if index.dtype == np.bool_ else int(index)
    chosen = chosen if 0 <= chosen <= last else last
    return frame.call(instr.called[chosen], operands[chosen])


@evaluates("while", xla="While")
def evaluate_while(frame: Frame, instr: Instruction, _attrs: a.Attrs, state: Value) -> Value:
    """Run the body on its own result as long as the condition holds, be it forever.

    From the second iteration on, arrays that the loop carries may be updated in place. A loop that
    is idle (see `interpreter.idle_loops`) is taken to end.

    Raises
    ------
    HloError
        HLO124 if the loop goes on after as many iterations as `evaluate` was allowed.
    """
    condition, body = instr.called
    if is_idle(instr):
        return state
    iteration = 0
    while frame.call(condition, state, iteration=iteration):
        if iteration == frame.max_iterations:
            message = f"{instr.name}: the loop has not ended after {iteration:,} iterations"
            raise HloError("HLO124", message, instr.span)
        frame.ask()
        state = frame.call(body, state, iteration=iteration, in_place=iteration > 0)
        iteration += 1
    return state


@evaluates("async-start", xla='"Async operations"')
def evaluate_async_start(
    frame: Frame, instr: Instruction, _attrs: a.AsyncStart, *operands: Value
) -> Value:
    """Run the computation at once: the operands, its result, and contexts without meaning.

    If an async-update brings further operands, that runs it; until then the result is zeros.
    """
    return _started(frame, instr, instr.called[0], operands)


@evaluates("async-update", xla='"Async operations"')
def evaluate_async_update(
    frame: Frame, instr: Instruction, _attrs: a.Attrs, started: tuple[Value, ...], *operands: Value
) -> Value:
    """The value of an async operation with further operands; without any it stays as it is."""
    if not operands:
        return started
    start = instr
    while start.opcode == "async-update":
        start = start.operands[0]
    bound = (*cast("tuple[Value, ...]", started[0]), *operands)
    return _started(frame, instr, start.called[0], bound)


def _started(
    frame: Frame, instr: Instruction, computation: Computation, operands: tuple[Value, ...]
) -> Value:
    whole = len(operands) == len(computation.parameters)
    result = frame.call(computation, *operands) if whole else _zeros(instr.shape.elements[1])
    return operands, result, *(CONTEXT for _ in instr.shape.elements[2:])


def _zeros(shape: Shape) -> Value:
    if shape.is_tuple:
        return tuple(_zeros(element) for element in shape.elements)
    return np.zeros(shape.dims, shape.element_type.dtype)


@evaluates(
    "async-done",
    "all-gather-done",
    "all-reduce-done",
    "collective-permute-done",
    xla='"Async operations"; HloInstruction in XLA',
)
def evaluate_done(_frame: Frame, instr: Instruction, _attrs: a.Attrs, started: Value) -> Value:
    """The result of the started operation; it comes after the operands.

    An all-reduce-start yields its result alone.
    """
    is_pair = instr.operands[0].shape.is_tuple and instr.opcode != "all-reduce-done"
    return started[1] if is_pair else started
