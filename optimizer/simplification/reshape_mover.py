"""Moves reshapes and transposes down past elementwise instructions.

    a = f32[6] reshape(x)                    s = f32[2,3] add(x, y)
    b = f32[6] reshape(y)         =>         ROOT r = f32[6] reshape(s)
    ROOT s = f32[6] add(a, b)

Two become one, and further down they often meet their inverse. It is done only where nobody else
uses what is moved, so that there never are more of them than before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from hlo.walk import Plan, names_of, rebuild, users
from optimizer.effects import ordered, without_dead
from optimizer.make import constant, make, value_of
from optimizer.passes import register
from optimizer.settle import rebuild_unfused, settle

if TYPE_CHECKING:
    from hlo.attributes import Broadcast, Dimensions
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log
    from optimizer.make import Array


REARRANGEMENTS = frozenset({"reshape", "transpose"})


@register
@dataclass(frozen=True)
class ReshapeMover:
    """Sinks reshapes and transposes.

    References
    ----------
    XLA, `xla/hlo/transforms/simplifiers/reshape_mover.cc`.
    """

    name = "reshape-mover"

    def run(self, module: Module, log: Log) -> Module:
        """The module with reshapes and transposes as far down as they go."""
        names = names_of(module)

        def change(computation: Computation) -> Computation:
            if computation.opcodes.isdisjoint(REARRANGEMENTS):
                return computation
            return settle(computation, lambda c: moved(c, names, log))

        return rebuild_unfused(module, change)


def moved(computation: Computation, names: NameSupply, log: Log) -> Computation:
    """A computation with all reshapes and transposes moved that can be."""
    plan: Plan = {}
    # What was moved past, on what was not rearranged yet.
    bare: Plan = {}
    carries = carried(computation)
    for instr, first in carries.items():
        operands = [o for o in instr.operands if o in carries and not is_rearrangement(o)]
        if is_rearrangement(instr) or not all(o in bare for o in operands):
            continue
        made = elementwise(instr, first, bare, names)
        new = rearranged(made, instr, first, names)
        if log.rewrite("move", instr, new):
            plan[instr], bare[instr] = new, made
    return without_dead(rebuild(computation, plan)) if plan else computation


def carried(computation: Computation) -> Plan:
    """Reshapes, transposes, and all past which they can be moved, each with what it carries.

    Whoever uses one of those must be among them too; so the users of one that something else uses
    are barred, until there is none.
    """
    users_of, barred = users(computation), ordered(computation)
    while True:
        carries: Plan = {}
        for instr in computation.instructions:
            first = instr if is_rearrangement(instr) else carried_by(instr, carries)
            if instr not in barred and first is not None:
                carries[instr] = first
        shared = {
            user
            for instr in carries
            if instr is computation.root or not all(u in carries for u in users_of[instr])
            for user in users_of[instr]
            if user in carries and not is_rearrangement(user)
        }
        if not shared:
            return carries
        barred |= shared


def is_rearrangement(instr: Instruction) -> bool:
    """Whether an instruction is a reshape or a transpose."""
    return instr.opcode in REARRANGEMENTS


def carried_by(instr: Instruction, carries: Plan) -> Instruction | None:
    """The reshape or transpose that an elementwise instruction's operands carry, if all do.

    Constants and broadcasts carry any. But there must be one that is of something else.
    """
    if not instr.row.elementwise or instr.called or instr.shape.is_dynamic:
        return None
    if any(o.shape.dims != instr.shape.dims or o.shape.is_dynamic for o in instr.operands):
        return None
    first = next((carries[o] for o in instr.operands if o in carries and not is_idle(o)), None)
    if first is None or first.operands[0].shape.is_dynamic:
        return None
    fits = all(
        is_same(carries[o], first) if o in carries else is_free(o, first) for o in instr.operands
    )
    return first if fits else None


def is_idle(instr: Instruction) -> bool:
    """Whether an instruction only rearranges what costs nothing to make in any shape."""
    return is_rearrangement(instr) and is_free(instr.operands[0], instr)


def is_same(one: Instruction, other: Instruction) -> bool:
    """Whether two reshapes or transposes do the same to arrays of the same dimensions."""
    return (one.opcode, one.attrs, one.operands[0].shape.dims) == (
        other.opcode,
        other.attrs,
        other.operands[0].shape.dims,
    )


def is_free(instr: Instruction, rearrangement: Instruction) -> bool:
    """Whether it costs nothing to make what gives an instruction when it is rearranged.

    Constants can be rearranged now, and broadcasts can be made in another shape.
    """
    if instr.shape.dims != rearrangement.shape.dims:
        return False
    if instr.opcode != "broadcast":
        return value_of(instr) is not None
    dims = cast("Broadcast", instr.attrs).dimensions
    order = order_of(rearrangement)
    moved_dims = [order[d] for d in dims] if order else []
    if dims and not order:
        return False
    return moved_dims == sorted(moved_dims) and list(dims) == sorted(dims)


def order_of(rearrangement: Instruction) -> tuple[int, ...]:
    """A transpose's permutation; () for a reshape."""
    is_transpose = rearrangement.opcode == "transpose"
    return cast("Dimensions", rearrangement.attrs).dimensions if is_transpose else ()


def inverse(instr: Instruction, rearrangement: Instruction) -> Instruction:
    """What gives an instruction for which `is_free` holds when it is rearranged."""
    shape = rearrangement.operands[0].shape.with_type(instr.shape.element_type)
    order = order_of(rearrangement)
    if instr.opcode == "broadcast":
        dims = tuple([order[d] for d in cast("Broadcast", instr.attrs).dimensions])
        return make("broadcast", instr.operands[0], shape=shape, dimensions=dims)
    value = cast("Array", value_of(instr))
    inverted = sorted(range(len(order)), key=order.__getitem__)
    new = value.transpose(inverted) if order else value.reshape(shape.dims)
    return constant(new).with_(shape=shape)


def elementwise(
    instr: Instruction, first: Instruction, bare: Plan, names: NameSupply
) -> Instruction:
    """The elementwise instruction on what was not rearranged yet.

    Parameters
    ----------
    first : the reshape or transpose that its operands carry.
    bare : the operands that are elementwise themselves, on what was not rearranged yet.
    """
    operands = [
        bare[o]
        if o in bare
        else o.operands[0]
        if is_rearrangement(o)
        else fresh(inverse(o, first), instr, names)
        for o in instr.operands
    ]
    shape = first.operands[0].shape.with_type(instr.shape.element_type)
    notes = replace(instr.annotations, sharding=None, backend_config="")
    return instr.with_(operands=tuple(operands), shape=shape, annotations=notes)


def rearranged(
    made: Instruction, instr: Instruction, first: Instruction, names: NameSupply
) -> Instruction:
    """The reshape or transpose of a moved instruction, which takes the old one's place."""
    new = fresh(first.with_(operands=(made,), shape=instr.shape), instr, names)
    notes = replace(new.annotations, sharding=instr.annotations.sharding)
    return new.with_(annotations=notes)


def fresh(new: Instruction, old: Instruction, names: NameSupply) -> Instruction:
    """A new instruction with a name, and the old one's place in the user's source."""
    notes = replace(old.annotations, sharding=None, backend_config="")
    return new.with_(name=names.unique(new.opcode), annotations=notes, span=old.span)
