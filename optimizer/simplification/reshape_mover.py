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

from hlo.walk import Plan, names_of, rebuild, rebuild_module, users
from optimizer.effects import ordered, without_dead
from optimizer.make import constant, make, value_of
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.attributes import Broadcast, Dimensions
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log


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
        fused = {c.name for i in module.instructions() if i.opcode == "fusion" for c in i.called}

        def change(computation: Computation) -> Computation:
            if computation.name in fused:
                return computation
            before = None
            while computation is not before:
                before = computation
                computation = moved(computation, names, log)
            return computation

        return rebuild_module(module, change)


def moved(computation: Computation, names: NameSupply, log: Log) -> Computation:
    """A computation with all reshapes and transposes moved that can be, each by one instruction."""
    plan: Plan = {}
    for instr in movable(computation):
        new = sunk(instr, names)
        if log.rewrite("move", instr, new):
            plan[instr] = new
    return without_dead(rebuild(computation, plan)) if plan else computation


def movable(computation: Computation) -> list[Instruction]:
    """Elementwise instructions past which all their reshapes and transposes can be moved.

    Whatever uses one of those must be among them too; so those that share one with something else
    are taken out, until none is.
    """
    tied, users_of = ordered(computation), users(computation)
    found = {
        instr
        for instr in computation.instructions
        if instr not in tied and not tied & set(instr.operands) and is_candidate(instr)
    }
    pending = True
    while pending:
        shared = [
            operand
            for instr in found
            for operand in instr.operands
            if is_rearrangement(operand)
            and (operand is computation.root or not found.issuperset(users_of[operand]))
        ]
        pending = {user for operand in shared for user in users_of[operand]} & found
        found -= pending
    return [instr for instr in computation.instructions if instr in found]


def is_rearrangement(instr: Instruction) -> bool:
    """Whether an instruction is a reshape or a transpose."""
    return instr.opcode in ("reshape", "transpose")


def is_candidate(instr: Instruction) -> bool:
    """Whether an elementwise instruction's operands are all moved alike, or can be."""
    shapes = [instr.shape, *[o.shape for o in instr.operands]]
    if not instr.row.elementwise or instr.called or any(s.is_dynamic for s in shapes):
        return False
    if any(s.dims != instr.shape.dims for s in shapes):
        return False
    first = rearrangement_of(instr)
    return first is not None and all(
        is_same(o, first) if is_rearrangement(o) else inverse(o, first) is not None
        for o in instr.operands
    )


def rearrangement_of(instr: Instruction) -> Instruction | None:
    """The first operand that is a reshape or transpose of something that is no constant."""
    return next(
        (o for o in instr.operands if is_rearrangement(o) and inverse(o.operands[0], o) is None),
        None,
    )


def is_same(one: Instruction, other: Instruction) -> bool:
    """Whether two reshapes or transposes do the same to arrays of the same dimensions."""
    return (one.opcode, one.attrs, one.operands[0].shape.dims) == (
        other.opcode,
        other.attrs,
        other.operands[0].shape.dims,
    )


def inverse(instr: Instruction, rearrangement: Instruction) -> Instruction | None:
    """What gives an instruction when it is rearranged, if it costs nothing to make.

    Constants can be rearranged now, and broadcasts can be made in another shape.
    """
    shape = rearrangement.operands[0].shape.with_type(instr.shape.element_type)
    is_transpose = rearrangement.opcode == "transpose"
    order: tuple[int, ...] = ()
    if is_transpose:
        order = cast("Dimensions", rearrangement.attrs).dimensions
    if instr.shape.dims != rearrangement.shape.dims:
        return None
    if instr.opcode == "broadcast":
        dims = cast("Broadcast", instr.attrs).dimensions
        new = tuple([order[d] for d in dims]) if is_transpose else ()
        if (dims and not is_transpose) or list(new) != sorted(new) or list(dims) != sorted(dims):
            return None
        return make("broadcast", instr.operands[0], shape=shape, dimensions=new)
    value = value_of(instr)
    if value is None:
        return None
    if is_transpose:
        inverted = sorted(range(len(order)), key=order.__getitem__)
        return constant(value.transpose(inverted)).with_(shape=shape)
    return constant(value.reshape(shape.dims)).with_(shape=shape)


def sunk(instr: Instruction, names: NameSupply) -> Instruction:
    """The reshape or transpose of the elementwise instruction on what was rearranged before."""
    first = cast("Instruction", rearrangement_of(instr))
    annotations = replace(instr.annotations, sharding=None, backend_config="")

    def named(new: Instruction) -> Instruction:
        return new.with_(name=names.unique(new.opcode), annotations=annotations, span=instr.span)

    operands = [
        o.operands[0] if is_rearrangement(o) else named(cast("Instruction", inverse(o, first)))
        for o in instr.operands
    ]
    shape = first.operands[0].shape.with_type(instr.shape.element_type)
    made = instr.with_(operands=tuple(operands), shape=shape, annotations=annotations)
    new = named(first.with_(operands=(made,), shape=instr.shape))
    return new.with_(annotations=replace(annotations, sharding=instr.annotations.sharding))
