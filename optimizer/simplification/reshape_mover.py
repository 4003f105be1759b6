"""Moves reshapes and transposes down past elementwise instructions.

    a = f32[6] reshape(x)                    s = f32[2,3] add(x, y)
    b = f32[6] reshape(y)         =>         ROOT r = f32[6] reshape(s)
    ROOT s = f32[6] add(a, b)

Two become one, and further down they often meet their inverse. It is done only where nobody else
uses what is moved, so that there never are more of them than before.

An array carries a reshape or transpose along, past whatever can be computed before it just as well,
and what it meets on the way becomes one with it; so one walk moves them all as far as they go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from hlo.effects import ordered
from hlo.support.memo import remembered
from hlo.walk import Plan, names_of, users_of
from optimizer.passes import register
from optimizer.rewriting.make import value_of
from optimizer.rewriting.settle import settle_sites
from optimizer.simplification.rearrangement import (
    REARRANGEMENTS,
    Steps,
    done,
    inverse,
    is_free,
    is_rearrangement,
    step_of,
    then,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log
    from optimizer.rewriting.sites import SiteRewrites

    Users = Mapping[Instruction, Sequence[Instruction]]


@register
@dataclass(frozen=True)
class ReshapeMover:
    """Sinks reshapes and transposes."""

    name = "reshape-mover"
    xla = "xla/hlo/transforms/simplifiers/reshape_mover.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with reshapes and transposes as far down as they go."""
        return settle_sites(module, log, partial(move, names_of(module)))


def move(names: NameSupply, computation: Computation, rewrites: SiteRewrites) -> None:
    """Move all reshapes and transposes that can be."""
    if computation.opcodes.isdisjoint(REARRANGEMENTS):
        return
    # Values before their rearrangement, by the instructions that are rearranged.
    bare: Plan = {}
    carries = carried(computation)
    for instr, steps in carries.items():
        if any(o in carries and o not in bare for o in instr.operands):
            continue
        if is_rearrangement(instr):
            (operand,) = instr.operands
            bare[instr] = bare.get(operand, operand)
            continue
        elementwise_instr = elementwise(instr, steps, bare, names)
        new = rearranged(elementwise_instr, steps, instr, names)
        if rewrites.add("move", instr, new):
            bare[instr] = elementwise_instr


@remembered
def carried(computation: Computation) -> dict[Instruction, Steps]:
    """Reshapes, transposes, and all past which they can be moved, each with the steps it carries.

    Whoever uses one of those must be among them too; so the users of one that something else uses
    are barred, until there is none.
    """
    barred = set(ordered(computation))
    while True:
        carries: dict[Instruction, Steps] = {}
        carry_nothing = carries.keys().isdisjoint
        for instr in computation.instructions:
            if instr in barred or (carry_nothing(instr.operands) and not is_rearrangement(instr)):
                continue
            steps = steps_of(instr, carries)
            if steps is not None:
                carries[instr] = steps
        if not carries:
            return carries
        users = users_of(computation, carries)
        mixed = [
            i
            for i in carries
            if i is computation.root or not all(user in carries for user in users[i])
        ]
        if not (found := left_alone(mixed, carries, users)):
            return carries
        barred |= found


def left_alone(
    mixed: list[Instruction], carries: Collection[Instruction], users: Users
) -> set[Instruction]:
    """The instructions that can't be passed, since others use their operands as they are.

    Such an instruction uses its operands as they are, and its users can't be moved past either.
    """
    found: set[Instruction] = set()
    seen = set(mixed)
    pending = list(mixed)
    while pending:
        for user in users[pending.pop()]:
            if user in carries and user not in found and not is_rearrangement(user):
                found.add(user)
                news = [i for i in (user, *user.operands) if i in carries and i not in seen]
                seen.update(news)
                pending += news
    return found


def steps_of(instr: Instruction, carries: Mapping[Instruction, Steps]) -> Steps | None:
    """The steps that an instruction carries; None if it carries none.

    An elementwise one carries those of its operands, if all carry the same. Constants and
    broadcasts carry any. But there must be one that is of something else.
    """
    if is_rearrangement(instr):
        return then(carries.get(instr.operands[0], ()), step_of(instr)) if is_plain(instr) else None
    steps = next((carries[o] for o in instr.operands if o in carries and not is_idle(o)), None)
    if steps is None or not instr.row.elementwise or instr.called or not is_plain(instr):
        return None
    if any(o.shape.dims != instr.shape.dims for o in instr.operands):
        return None
    fits = all(carries[o] == steps if o in carries else is_free(o, steps) for o in instr.operands)
    return steps if fits else None


def is_plain(instr: Instruction) -> bool:
    """Whether an instruction makes an array of arrays, all of static sizes."""
    return all(i.shape.is_array and not i.shape.is_dynamic for i in (instr, *instr.operands))


def is_idle(instr: Instruction) -> bool:
    """Whether an instruction only rearranges a constant."""
    return is_rearrangement(instr) and value_of(instr.operands[0]) is not None


def elementwise(instr: Instruction, steps: Steps, bare: Plan, names: NameSupply) -> Instruction:
    """The elementwise instruction on the operands before their rearrangement."""
    if not steps:
        return instr.with_(operands=tuple([bare.get(o, o) for o in instr.operands]))
    source = next(bare[o].shape for o in instr.operands if o in bare)
    operands = [
        bare[o] if o in bare else fresh(inverse(o, steps, source), instr, names)
        for o in instr.operands
    ]
    shape = source.with_type(instr.shape.element_type)
    notes = instr.annotations.inherited()
    return instr.with_(operands=tuple(operands), shape=shape, annotations=notes)


def rearranged(
    made: Instruction, steps: Steps, instr: Instruction, names: NameSupply
) -> Instruction:
    """A moved instruction after the steps, which takes the old one's place."""
    new = made
    for step in steps:
        new = fresh(done(step, new), instr, names)
    if not steps:
        return new
    notes = replace(new.annotations, sharding=instr.annotations.sharding)
    return new.with_(shape=instr.shape, annotations=notes)


def fresh(new: Instruction, old: Instruction, names: NameSupply) -> Instruction:
    """A new instruction with a name, and the old one's place in the user's source."""
    notes = old.annotations.inherited()
    return new.with_(name=names.unique(new.opcode), annotations=notes, span=old.span)
