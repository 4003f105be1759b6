"""Calls that one device makes for all: `sharding={maximal device=0}`.

r = f32[4] custom-call(x), sharding={maximal device=0}
=>
c = f32[4] conditional(this device is 0, x, x), true_computation=call, false_computation=nothing
r = f32[4] all-reduce(c)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.types.shape import tuple_of
from optimizer.expanders.op_expander import ExpansionSite, element
from optimizer.partitioning.communication import looked_up, neutral
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.names import NameSupply
    from hlo.types.shape import Shape
    from hlo.types.sharding import Sharding


def device_of(instr: Instruction) -> int | None:
    """The device that a custom call is for; None if it is for all."""
    sharding = instr.annotations.sharding
    if instr.opcode != "custom-call" or sharding is None:
        return None
    shardings = sharding.elements if sharding.kind == "tuple" else (sharding,)
    devices = {_maximal(one) for one in shardings}
    return devices.pop() if len(devices) == 1 else None


def _maximal(sharding: Sharding) -> int | None:
    if sharding.named is not None:
        return sharding.named.mesh.maximal_device
    return sharding.device if sharding.kind == "maximal" else None


def on_one_device(
    instr: Instruction, operand: Instruction, here: list[bool], names: NameSupply
) -> Instruction:
    """The value of a call on one device, and neutral summands on the others.

    Parameters
    ----------
    operand : the tuple of its operands.
    here : whether it is a device's turn, for each.
    """
    site = ExpansionSite(instr, names)

    def call(state: Instruction) -> Instruction:
        operands = tuple(element(state, n) for n in range(len(instr.operands)))
        return instr.with_(operands=operands, control_predecessors=())

    def nothing(_state: Instruction) -> Instruction:
        return _nothing(instr.shape)

    target = CustomCall.of(instr).custom_call_target
    called = (
        site.computation(f"{target}.on_one_device", [operand.shape], call),
        site.computation("nothing", [operand.shape], nothing),
    )
    turn = make("compare", looked_up([int(turn) for turn in here]), 0, direction="NE")
    return make("conditional", turn, operand, operand, shape=instr.shape, called=called)


def _nothing(shape: Shape) -> Instruction:
    if shape.is_tuple:
        return make("tuple", *map(_nothing, shape.elements), shape=tuple_of(*shape.elements))
    if not shape.is_array:
        return make("after-all", shape=shape)
    return make("broadcast", neutral(shape.element_type), shape=shape, dimensions=())
