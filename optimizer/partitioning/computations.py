"""Computations whose instructions devices run on parts; loops keep parts in their state.

    state = (s32[], f32[8]) while(start), body=body    =>    (s32[], f32[4]) while(...), body=body.1

An element of a loop's state is cut as the initial value is, or, if that is whole, as the body gives
it; the body cuts it anew where it gives another part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement
from hlo.types.shape import tuple_of
from hlo.walk import rebuild, users
from optimizer.expanders.op_expander import ExpansionSite, element
from optimizer.partitioning.communication import folded
from optimizer.partitioning.division import Division, Held, divided
from optimizer.partitioning.entry import renamed, sharding_call
from optimizer.partitioning.parts import are_same, sharding_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo.attributes import Attrs
    from hlo.instruction import Computation, Instruction
    from hlo.names import NameSupply
    from hlo.sharded import Shards
    from hlo.types.shape import Shape
    from optimizer.partitioning.communication import Groups

CUT, JOIN = "SPMDFullToShardShape", "SPMDShardToFullShape"
# The parts of each element of a loop's state; None for one that each device has whole.
_State = list["Shards | None"]


@dataclass(frozen=True)
class Devices:
    """The devices that run a module, and supplies of unused names and channels.

    Attributes
    ----------
    grid : the numbers of replicas and of partitions.
    joined : the parts from which calls in the module join an array; None if they do not.
    """

    grid: tuple[int, int]
    names: NameSupply
    channels: Iterator[int]
    joined: Callable[[Instruction], Held | None]


@dataclass
class ComputationDivision:
    """The division of one computation's instructions.

    Attributes
    ----------
    held : the part of an instruction's value that a device computes.
    loops : divided loops, with the part of each element of the state.
    plan : the new instruction for each old one that is replaced.
    """

    devices: Devices
    held: dict[Instruction, Held] = field(default_factory=dict["Instruction", Held])
    loops: dict[Instruction, list[Held | None]] = field(
        default_factory=dict["Instruction", "list[Held | None]"]
    )
    plan: dict[Instruction, Instruction] = field(default_factory=dict["Instruction", "Instruction"])

    def run(self, computation: Computation) -> None:
        """Divide the instructions, operands first."""
        for instr in computation.instructions:
            if instr in self.plan:
                continue
            if instr.opcode == "while":
                self._divide_loop(instr)
            elif instr.opcode == "get-tuple-element" and instr.operands[0] in self.loops:
                self.keep(instr, self.loops[instr.operands[0]][GetTupleElement.of(instr).index])
            else:
                those = tuple(self.held_by(o) for o in instr.operands)
                self.keep(instr, divided(_InstructionDivision(instr, those, self.devices)))

    def held_by(self, instr: Instruction) -> Held | None:
        """The part of a value that a device holds; None if it holds the whole."""
        return self.held.get(instr) or self.devices.joined(instr)

    def keep(self, instr: Instruction, found: Held | None) -> None:
        """Record a part, and replace the instruction by a call that joins the parts."""
        if found:
            self.held[instr] = found
            sharding, names = sharding_of(found.parts), self.devices.names
            self.plan[instr] = sharding_call(JOIN, found.part, instr.shape, sharding, names)

    def piece(self, instr: Instruction, parts: Shards | None) -> Instruction:
        """The part of a value under a given cut; the whole value for None."""
        return _piece(instr, self.held_by(instr), parts, self.devices.names)

    # ------------------------------------------------------------------------------- loops

    def _divide_loop(self, loop: Instruction) -> None:
        """Cut elements of the state until the body cuts no further one.

        A loop whose state is not made by a `tuple` runs on whole arrays.
        """
        start = loop.operands[0]
        if start.opcode != "tuple":
            return
        given = [self.held_by(o) for o in start.operands]
        state: _State = [h.parts if h and not h.parts.is_whole else None for h in given]
        while any(state):
            made = divided_body(loop.called[1], state, self.devices)
            if made is None:
                return
            changed, results = made
            grown = [here or there for here, there in zip(state, results, strict=True)]
            if grown == state:
                self._replace(loop, state, changed)
                return
            state = grown

    def _replace(self, loop: Instruction, state: _State, body: Computation) -> None:
        """Replace a loop by one that has the parts in its state."""
        names, start = self.devices.names, loop.operands[0]
        condition = divided_condition(loop.called[0], state, self.devices)
        if condition is None:
            return
        pairs = list(zip(start.operands, state, strict=True))
        begin = renamed(make("tuple", *(self.piece(o, parts) for o, parts in pairs)), names)
        annotations = replace(loop.annotations, sharding=None)
        made = loop.with_(
            name=names.unique(loop.name), shape=begin.shape, operands=(begin,),
            called=(condition, body), annotations=annotations,
        )  # fmt: skip
        parts_of_state = [renamed(element(made, n), names) for n in range(len(state))]
        self.loops[loop] = [
            Held(part, parts) if parts else None
            for part, parts in zip(parts_of_state, state, strict=True)
        ]
        joined = (
            sharding_call(JOIN, part, whole.shape, sharding_of(parts), names) if parts else part
            for part, (whole, parts) in zip(parts_of_state, pairs, strict=True)
        )
        self.plan[loop] = renamed(make("tuple", *joined), names)


def divided_body(
    body: Computation, state: _State, devices: Devices
) -> tuple[Computation, _State] | None:
    """A loop's body for parts of the state, and the cuts of its results.

    None if the body takes or gives the state as one value, and not element by element.
    """
    division = _of_state(body, state, devices)
    if division is None or body.root.opcode != "tuple":
        return None
    results = [division.held_by(o) for o in body.root.operands]
    pieces = (division.piece(o, p) for o, p in zip(body.root.operands, state, strict=True))
    root = renamed(make("tuple", *pieces), devices.names)
    made = rebuild(body, {**division.plan, body.root: root})
    found: _State = [h.parts if h and not h.parts.is_whole else None for h in results]
    return replace(made, name=devices.names.unique(body.name)), found


def divided_condition(
    condition: Computation, state: _State, devices: Devices
) -> Computation | None:
    """A loop's condition for parts of the state; None if it takes the state as one value."""
    division = _of_state(condition, state, devices)
    if division is None:
        return None
    return replace(rebuild(condition, division.plan), name=devices.names.unique(condition.name))


def _of_state(
    computation: Computation, state: _State, devices: Devices
) -> ComputationDivision | None:
    """The division of a computation whose only parameter is a loop's state."""
    (whole,) = computation.parameters
    taken = users(computation)[whole]
    if whole is computation.root or any(u.opcode != "get-tuple-element" for u in taken):
        return None
    pairs = zip(whole.shape.elements, state, strict=True)
    shape = tuple_of(*(parts.local(s) if parts else s for s, parts in pairs))
    part = whole.with_(shape=shape, annotations=replace(whole.annotations, sharding=None))
    division = ComputationDivision(devices, plan={whole: part})
    for user in taken:
        index = GetTupleElement.of(user).index
        local = renamed(element(part, index), devices.names)
        parts = state[index]
        if parts:
            division.keep(user, Held(local, parts))
        else:
            division.plan[user] = local
    division.run(computation)
    return division


# -------------------------------------------------------------------------- one instruction


@dataclass(frozen=True)
class _InstructionDivision(Division):
    """An instruction that is divided in a module."""

    here: Devices

    def piece(self, number: int, parts: Shards) -> Instruction:
        return _piece(self.instr.operands[number], self.held[number], parts, self.here.names)

    def local(
        self, shape: Shape, *operands: Instruction, attrs: Attrs | None = None
    ) -> Instruction:
        annotations = replace(self.instr.annotations, sharding=None)
        made = self.instr.with_(
            shape=shape, operands=operands, attrs=attrs, annotations=annotations
        )
        return renamed(made, self.here.names)

    def folded(self, part: Instruction, groups: Groups, by: Computation | None) -> Instruction:
        kind, here = part.shape.element_type, self.here
        by = by or ExpansionSite(self.instr, here.names).binary("add", kind)
        return renamed(folded(part, groups, by, next(here.channels), here.grid), here.names)

    @property
    def devices(self) -> int:
        return self.here.grid[1]


def _piece(
    operand: Instruction, held: Held | None, parts: Shards | None, names: NameSupply
) -> Instruction:
    """The part of a value under a given cut; the whole value for None."""
    if parts is None or parts.is_whole:
        return operand
    if held and are_same(held.parts, parts):
        return held.part
    sharded = sharding_call("Sharding", operand, operand.shape, sharding_of(parts), names)
    return sharding_call(CUT, sharded, parts.local(operand.shape), None, names)
