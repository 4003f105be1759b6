"""Kernels that are merged into one: what they compute, and what they read and write."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hlo.attributes import Fusion, GetTupleElement
from optimizer.analysis.cost import traffic
from optimizer.effects import has_effect, ordered
from optimizer.fusion.policy import is_plain
from optimizer.identity import Identity, reads_layouts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from hlo.instruction import Computation, Instruction
    from optimizer.fusion.policy import Policy

    Users = Mapping[Instruction, Sequence[Instruction]]
    Needed = Callable[[Instruction, Collection[Instruction]], bool]


@dataclass(eq=False)
class MergedKernel:
    """One kernel of a computation: an instruction, a fusion, or several that are to become one.

    Attributes
    ----------
    parts : the instructions of the computation that it stands for.
    members : what it computes, each after its operands; these are members, or instructions of the
        computation.
    values : the member that computes an instruction of the computation, for all that others use.
    handed : members that some parts compute and others may use.
    count : of the kernels that it was made of.
    """

    parts: tuple[Instruction, ...]
    members: tuple[Instruction, ...]
    values: dict[Instruction, Instruction]
    handed: tuple[Instruction, ...] = ()
    count: int = 1

    @cached_property
    def outputs(self) -> tuple[Instruction, ...]:
        """The members whose values are stored."""
        return tuple(dict.fromkeys(self.values.values()))

    @cached_property
    def operands(self) -> dict[Instruction, None]:
        """The operands of the kernel."""
        inside = set(self.members)
        return dict.fromkeys(o for m in self.members for o in m.operands if o not in inside)

    @cached_property
    def folds(self) -> frozenset[tuple[int, int]]:
        """The number of elements that its folds read and yield."""
        return frozenset(
            [(m.operands[0].shape.size, m.shape.size) for m in self.members if m.opcode == "reduce"]
        )

    @cached_property
    def distinct(self) -> Distinct:
        """The kernel's members, to find equal ones in kernels that are joined to it."""
        found = Distinct(Identity(is_layout_sensitive=True), [], {}, {}, {})
        found.add(self.members, self.values)
        return found

    @cached_property
    def bytes(self) -> int:
        """Bytes read and written."""
        read, written = traffic(self.members, self.outputs)
        return sum(read.values()) + written


def mergeable(
    computation: Computation, users: Users, policy: Policy, *, sharded: bool
) -> list[MergedKernel]:
    """The kernels of loops over arrays, which have no effects and no control dependencies."""
    tied, found = ordered(computation), list[MergedKernel]()
    for instr in computation.instructions:
        placed = sharded and instr.annotations.sharding is not None
        if instr not in tied and not placed and _is_loop(instr, policy) and not has_effect(instr):
            kernel = _kernel_of(instr, users)
            if kernel is not None and all(is_plain(m, policy) for m in kernel.members):
                found.append(kernel)
    return found


def _is_loop(instr: Instruction, policy: Policy) -> bool:
    if instr.opcode == "fusion":
        attrs = Fusion.of(instr)
        # A fusion that shares buffers does so on purpose, and keeps unused outputs.
        return attrs.kind in ("kLoop", "kInput") and not attrs.output_to_operand_aliasing
    return instr.opcode in policy.roots and is_plain(instr, policy)


def _kernel_of(instr: Instruction, users: Users) -> MergedKernel | None:
    """An instruction as a kernel; None if it hands on its operand, or a tuple used as such."""
    if instr.opcode != "fusion":
        return _single(instr) if instr.shape.is_array else None
    inner = instr.called[0]
    pairs = zip(inner.parameters, instr.operands, strict=True)
    # A bitcast of a parameter would read an operand that lies otherwise in another order.
    if reads_layouts(inner) and any(p.shape != o.shape for p, o in pairs):
        return None
    copies = dict(zip(inner.parameters, instr.operands, strict=True))
    members: list[Instruction] = []
    for member in inner.instructions:
        if member not in copies and (member is not inner.root or member.opcode != "tuple"):
            copies[member] = member.with_(operands=tuple([copies[o] for o in member.operands]))
            members.append(copies[member])
    elements: Sequence[Instruction] = ()
    values: dict[Instruction, Instruction] = {}
    if instr.shape.is_array:
        values[instr] = copies[inner.root]
    elif inner.root.opcode == "tuple":
        elements = users[instr]
        for element in elements:
            if element.opcode != "get-tuple-element":
                return None
            attrs = GetTupleElement.of(element)
            values[element] = copies[inner.root.operands[attrs.index]]
    made = set(members)
    # Two results that lie otherwise in memory may be one member, and are two to a bitcast.
    if not values or any(v not in made or v.shape != i.shape for i, v in values.items()):
        return None
    return MergedKernel((instr, *elements), tuple(members), values)


def _single(instr: Instruction) -> MergedKernel:
    """An instruction with the numbers that it needs."""
    copies = {
        o: o.with_(control_predecessors=())
        for o in instr.operands
        if o.opcode == "constant" and o.shape.size == 1
    }
    made = instr.with_(operands=tuple([copies.get(o, o) for o in instr.operands]))
    return MergedKernel((instr,), (*copies.values(), made), {instr: made})


def joined(first: MergedKernel, second: MergedKernel, needed: Needed) -> MergedKernel:
    """Both as one, where `first` does not need `second`; equal members become one.

    Parameters
    ----------
    needed : whether others than the given instructions need a value, so that it is still stored.
    """
    parts = (*first.parts, *second.parts)
    both = first.distinct.copy()
    both.add(second.members, first.values)
    inside, copies = set(parts), both.copies
    values = {
        instr: copies[member]
        for instr, member in (*first.values.items(), *second.values.items())
        if needed(instr, inside)
    }
    handed = tuple([copies[member] for member in first.values.values()])
    made = MergedKernel(parts, tuple(both.members), values, handed, first.count + second.count)
    # They are distinct already, and the next kernel will be joined to them.
    made.distinct = both
    return made


@dataclass
class Distinct:
    """Members of which no two compute the same.

    Attributes
    ----------
    copies : what stands for each member that was added.
    known : the members, by what makes them what they are.
    numbers : of the operands of members, for `identity` to tell them apart.
    """

    identity: Identity
    members: list[Instruction]
    copies: dict[Instruction, Instruction]
    known: dict[Any, Instruction]
    numbers: dict[Instruction, int]

    def add(
        self, members: Iterable[Instruction], values: Mapping[Instruction, Instruction]
    ) -> None:
        """Add members, each after its operands.

        Parameters
        ----------
        values : the members that compute what some of them read.
        """
        copies, numbers = self.copies, self.numbers
        for member in members:
            sources = [values.get(o, o) for o in member.operands]
            operands = tuple([copies.get(o, o) for o in sources])
            for operand in operands:
                numbers.setdefault(operand, len(numbers))
            made = member
            if operands != member.operands:
                made = member.rewired(operands, member.control_predecessors, member.called)
            copies[member] = self.known.setdefault(self.identity.key(made, numbers), made)
            if copies[member] is made:
                copies[made] = made
                self.members.append(made)

    def copy(self) -> Distinct:
        """A copy, to which other members can be added."""
        return Distinct(
            self.identity,
            list(self.members),
            dict(self.copies),
            dict(self.known),
            dict(self.numbers),
        )
