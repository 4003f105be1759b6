"""Instructions that are emitted as others: known custom calls, asynchronous calls, `{...}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlo import attributes as a
from hlo.error import HloError
from hlo.instruction import Instruction
from hlo.literal import literal
from hlo.shape import array
from hlo.walk import rebuild, rebuild_module
from interpreter.custom_calls.placement import identity, reshard
from interpreter.custom_calls.registry import CUSTOM_CALLS
from interpreter.plumbing import evaluate_constant

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module


def expand(module: Module) -> Module:
    """The module without custom calls that merely place values, asynchronous calls and `{...}`."""
    return rebuild_module(module, _expanded)


def _expanded(computation: Computation) -> Computation:
    plan = {
        instr: made
        for instr in computation.instructions
        if instr.opcode in _EXPANDS and (made := _EXPANDS[instr.opcode](instr)) is not None
    }
    return rebuild(computation, plan)


def _custom_call(instr: Instruction) -> Instruction | None:
    attrs: a.CustomCall = instr.attrs  # type: ignore[assignment]
    target = attrs.custom_call_target
    if CUSTOM_CALLS.get(target) in (identity, reshard):
        return _placed(instr)
    if target in ("TopK", "__gpu$TopK"):
        made = a.TopK(k=instr.shape.elements[0].dims[-1], largest=True)
        return instr.with_(opcode="topk", attrs=made, called=())
    if target in ("AllocateBuffer", "CreateBuffer"):
        zero = literal(
            np.zeros((), instr.shape.element_type.dtype), array(instr.shape.element_type)
        )
        scalar = Instruction(
            f"{instr.name}.zero", "constant", zero.shape, (), a.Constant(literal=zero)
        )
        return Instruction(instr.name, "broadcast", instr.shape, (scalar,), a.Broadcast())
    message = f"{instr.name}: the custom call {target!r} can't be compiled to C"
    raise HloError("HLO181", message, instr.span, ["it calls a function that is written in no HLO"])


def _placed(instr: Instruction) -> Instruction:
    """A custom call that yields its operand, or the tuple of its operands."""
    several = instr.shape.is_tuple and len(instr.operands) != 1
    wanted = instr.shape.elements if several else (instr.shape,)
    for operand, shape in zip(instr.operands, wanted, strict=False):
        if not operand.shape.is_tuple and operand.shape.dims != shape.dims:
            message = f"{instr.name}: {operand.shape} is split, and the module is not partitioned"
            raise HloError("HLO181", message, instr.span)
    opcode = "tuple" if several else "opt-barrier"
    operands = instr.operands if several else instr.operands[:1]
    return Instruction(instr.name, opcode, instr.shape, operands, a.NO_ATTRS, span=instr.span)


def _async_done(instr: Instruction) -> Instruction:
    """A call, where the value of something started is waited for."""
    start = instr.operands[0]
    while start.opcode == "async-update":
        start = start.operands[0]
    return Instruction(
        instr.name, "call", instr.shape, start.operands, a.Call(), start.called, span=instr.span
    )


def _constant(instr: Instruction) -> Instruction | None:
    """An elided constant with the values that the interpreter makes up for it."""
    attrs: a.Constant = instr.attrs  # type: ignore[assignment]
    if not attrs.literal.elided:
        return None
    made_up = literal(evaluate_constant(instr, attrs), attrs.literal.shape)
    return instr.with_(attrs=a.Constant(literal=made_up))


_EXPANDS = {"constant": _constant, "custom-call": _custom_call, "async-done": _async_done}
