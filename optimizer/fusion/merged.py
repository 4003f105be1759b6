"""Kernels that are merged into one: what they compute, and what they read and write."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hlo.attributes import Fusion, GetTupleElement
from hlo.effects import has_effect, ordered
from optimizer.analysis.cost import bytes_read_of, bytes_written_by
from optimizer.fusion.policy import ELEMENTWISE, is_plain
from optimizer.fusion.remainders import most_operations
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
    def totals(self) -> Totals:
        """The sums over its members."""
        totals = Totals()
        totals.add(self.members, set(self.members))
        if len(self.outputs) > 1:
            totals.dims = None  # nothing says that one loop computes all of them
        return totals

    @property
    def operands(self) -> Mapping[Instruction, int]:
        """The operands of the kernel."""
        return self.totals.read

    @property
    def folds(self) -> frozenset[tuple[int, int]]:
        """The number of elements that its folds read and yield."""
        return self.totals.folds

    @cached_property
    def distinct(self) -> Distinct:
        """The kernel's members, to find equal ones in kernels that are joined to it."""
        distinct = Distinct(Identity(is_layout_sensitive=True), [], {}, {}, {})
        distinct.add(self.members, self.values)
        return distinct

    @cached_property
    def bytes(self) -> int:
        """Bytes read and written."""
        read = sum(min(most, o.shape.bytes) for o, most in self.totals.read.items())
        return read + sum(map(bytes_written_by, self.outputs))

    def forget(self) -> None:
        """Give up memory that only another kernel needs that would be joined to this one."""
        vars(self).pop("distinct", None)


def mergeable(
    computation: Computation, users: Users, policy: Policy, *, sharded: bool
) -> list[MergedKernel]:
    """The kernels of loops over arrays, which have no effects and no control dependencies."""
    tied, kernels = ordered(computation), list[MergedKernel]()
    for instr in computation.instructions:
        placed = sharded and instr.annotations.sharding is not None
        if instr not in tied and not placed and _is_loop(instr, policy) and not has_effect(instr):
            kernel = _kernel_of(instr, users)
            if kernel is not None and all(is_plain(m, policy) for m in kernel.members):
                kernels.append(kernel)
    return kernels


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
    own = set(members)
    # Two results that lie otherwise in memory may be one member, and are two to a bitcast.
    if not values or any(v not in own or v.shape != i.shape for i, v in values.items()):
        return None
    return MergedKernel((instr, *elements), tuple(members), values)


def _single(instr: Instruction) -> MergedKernel:
    """An instruction with the numbers that it needs."""
    copies = {
        o: o.with_(control_predecessors=())
        for o in instr.operands
        if o.opcode == "constant" and o.shape.size == 1
    }
    single = instr.with_(operands=tuple([copies.get(o, o) for o in instr.operands]))
    return MergedKernel((instr,), (*copies.values(), single), {instr: single})


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
    kernel = MergedKernel(parts, tuple(both.members), values, handed, first.count + second.count)
    # They are distinct already, and the next kernel will be joined to them.
    kernel.distinct = both
    totals = kernel.totals = first.totals.copy()
    totals.add(kernel.members[len(first.members) :], both.copies)
    if totals.dims is not None and not _share_a_loop(first, second, totals.dims):
        totals.dims = None
    return kernel


def _share_a_loop(first: MergedKernel, second: MergedKernel, dims: tuple[int, ...]) -> bool:
    """Whether a value of all elements makes two elementwise kernels count the same loop."""
    if second.totals.dims != dims:
        return False
    read = second.operands.keys()
    shared = read & first.values.keys(), read & first.operands.keys()
    return any(o.shape.dims == dims for values in shared for o in values)


@dataclass
class Totals:
    """Sums over members, to which those of more members can be added.

    Attributes
    ----------
    read : of each operand of the kernel, the bytes that members read, each by itself.
    folds : the number of elements that folds read and yield.
    fold_count : the number of folds.
    cut : the member whose rows leave the most work for elements that fill no vector.
    dims : of all members, where each element needs only those at its own place; None for others.
    """

    read: dict[Instruction, int] = field(default_factory=dict["Instruction", int])
    folds: frozenset[tuple[int, int]] = frozenset()
    fold_count: int = 0
    cut: Instruction | None = None
    dims: tuple[int, ...] | None = ()

    def add(self, members: Sequence[Instruction], inside: Collection[Instruction]) -> None:
        """Add members.

        Parameters
        ----------
        inside : these and all that were added before, so that no operand of the kernel is in it.
        """
        read = self.read
        for member in members:
            for number, operand in enumerate(member.operands):
                if operand not in inside:
                    read[operand] = read.get(operand, 0) + bytes_read_of(member, number)
            if self.dims is not None:
                self.dims = _common_dims(self.dims, member)
        folds = [m for m in members if m.opcode == "reduce"]
        self.folds |= {(m.operands[0].shape.size, m.shape.size) for m in folds}
        self.fold_count += len(folds)
        cuts = members if self.cut is None else (self.cut, *members)
        self.cut = min(cuts, key=most_operations)

    def copy(self) -> Totals:
        """A copy, to which other members can be added."""
        return replace(self, read=dict(self.read))


def _common_dims(dims: tuple[int, ...], member: Instruction) -> tuple[int, ...] | None:
    """The dimensions of members and one more; `()` before the first, None if they differ."""
    if member.opcode == "constant" and member.shape.size == 1:
        return dims
    own = member.shape.dims
    alike = member.shape.size > 1 and dims in ((), own)
    if member.opcode == "broadcast" and member.operands[0].shape.size == 1:
        return own if alike else None
    if member.opcode not in ELEMENTWISE or not all(o.shape.dims == own for o in member.operands):
        return None
    return own if alike else None


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
            copy = member
            if operands != member.operands:
                copy = member.rewired(operands, member.control_predecessors, member.called)
            copies[member] = self.known.setdefault(self.identity.key(copy, numbers), copy)
            if copies[member] is copy:
                copies[copy] = copy
                self.members.append(copy)

    def copy(self) -> Distinct:
        """A copy, to which other members can be added."""
        return Distinct(
            self.identity,
            list(self.members),
            dict(self.copies),
            dict(self.known),
            dict(self.numbers),
        )
