"""Puts copies where values must share a buffer and cannot.

    ENTRY e {                                   ENTRY e {
      x = f32[8] parameter(0)                     x = f32[8] parameter(0)
                                         =>       copy = f32[8] copy(x)
      ROOT y = f32[8] dynamic-update-slice(       ROOT y = f32[8] dynamic-update-slice(
        x, ...)                                     copy, ...)

The update works in place, and the caller's array must stay as it is. Likewise a loop's state begins
as a copy of a value that is needed later too, and what leaves the module is no parameter and no
constant. After this pass `optimizer.memory.buffers` refuses nothing, and no kernel has to copy.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hlo.attributes import GetTupleElement
from hlo.attributes.annotations import Annotations
from hlo.instruction import Computation, Instruction
from hlo.types.shape import tuple_of
from hlo.walk import names_of, rebuild_module
from optimizer.analysis.timeline import can_be_planned
from optimizer.calls.flatten_call_graph import FlattenCallGraph
from optimizer.memory.alias_info import ALIAS_INFO
from optimizer.memory.buffers import Buffers, Update
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Module
    from hlo.names import NameSupply
    from optimizer.analysis.alias import AliasInfo
    from optimizer.analysis.dataflow import Dataflow, Join
    from optimizer.log import Log
    from optimizer.memory.buffers import Buffer

Index = tuple[int, ...]
# Copies can make room for a clash that was not seen before; three rounds were never needed.
ROUNDS = 8


@dataclass(frozen=True, slots=True)
class WantedCopy:
    """One copy: of a leaf of an instruction's operand, or of a computation's root.

    Attributes
    ----------
    rule : why it is needed.
    source, target : the buffers that it is to read, None if unknown, and to write.
    """

    leaf: int
    rule: str
    source: Buffer | None
    target: Buffer


@dataclass(slots=True)
class Copies:
    """The copies of one operand's leaves, in the order in which they must run.

    Attributes
    ----------
    saved : leaves that must be copied twice, first of all. What others write would overwrite them:
        x, y = y, x takes a third buffer.
    """

    order: list[WantedCopy] = field(default_factory=list[WantedCopy])
    saved: list[WantedCopy] = field(default_factory=list[WantedCopy])


@register
@dataclass(frozen=True)
class CopyInsertion:
    """Adds the copies without which values that share a buffer would overwrite each other.

    The order of instructions counts as the order in which they run.

    Attributes
    ----------
    target : whose kernels decide which results may lie in operands: cpu or gpu.
    """

    name = "copy-insertion"
    xla = "xla/service/copy_insertion.cc"
    target: str = "cpu"

    def run(self, module: Module, log: Log) -> Module:
        """The module with copies, and with a computation of its own for each sequential call."""
        return with_copies(module, ALIAS_INFO[self.target], log)


def with_copies(module: Module, info: AliasInfo, log: Log) -> Module:
    """Add the copies that the rules of a backend require."""
    module = FlattenCallGraph().run(module, log)
    if not can_be_planned(module):
        return module
    return copied(module, info, log)[0]


def copied(
    module: Module, info: AliasInfo, log: Log, flow: Dataflow | None = None
) -> tuple[Module, Buffers]:
    """A module that can be planned with the copies that it needs, and its buffers.

    Parameters
    ----------
    flow : of the same computations, if it is known.
    """
    buffers = Buffers(module, info, flow)
    for _ in range(ROUNDS):
        before, copies_at = module, needed(buffers)
        if not copies_at:
            break
        names = names_of(module)
        module = rebuild_module(
            module, lambda c, p=copies_at, n=names: CopySweep(c, p, n, log).computation()
        )
        if module is before:
            break
        buffers = Buffers(module, info)
    return module, buffers


# By the user (whether it is a computation, whose root is copied, and its name) and by the operand.
CopiesByOperand = dict[tuple[bool, str], dict[int, Copies]]


def needed(buffers: Buffers) -> CopiesByOperand:
    """The copies that make room for all that was refused."""
    wanted: dict[tuple[tuple[bool, str], int], list[WantedCopy]] = {}
    for wish, _ in buffers.refused:
        name, operand, leaf = operand_of(wish)
        source = buffers.of.get(wish.source) if wish.source else None  # type: ignore[arg-type]
        one = WantedCopy(leaf, rule(wish), source, buffers.of[wish.target])
        wanted.setdefault((name, operand), []).append(one)
    copies_at: CopiesByOperand = {}
    for (name, operand), copies in wanted.items():
        copies_at.setdefault(name, {})[operand] = in_order(copies)
    return copies_at


def operand_of(wish: Update | Join) -> tuple[tuple[bool, str], int, int]:
    """The operand to copy for a wish: its user, its number, and the leaf of it."""
    if isinstance(wish, Update):
        pair = wish.pair
        return (False, wish.instruction.name), pair.operand, pair.operand_leaf
    return (isinstance(wish.at, Computation), wish.at.name), 0, wish.leaf


def rule(wish: Update | Join) -> str:
    """A word for why a copy is needed."""
    if isinstance(wish, Update):
        return "update-in-place"
    return {"state": "loop-state", "choice": "branch-result"}.get(wish.target.kind, "live-out")


def in_order(copies: list[WantedCopy]) -> Copies:
    """Copies that all read before they write, done one after the other.

    A copy may run when no other one still has to read the buffer that it writes. If none may, they
    run in a circle, and saving one source first opens it.
    """
    plan = Copies()
    readers: dict[Buffer | None, int] = {}
    for copy in copies:
        readers[copy.source] = readers.get(copy.source, 0) + 1
    waiting = dict.fromkeys(copies)
    while waiting:
        ready = [c for c in waiting if readers.get(c.target, 0) == int(c.source is c.target)]
        if not ready:
            saved = next(c for c in waiting if c not in plan.saved)
            plan.saved.append(saved)
            readers[saved.source] -= 1
            continue
        for copy in ready:
            plan.order.append(copy)
            del waiting[copy]
            if copy not in plan.saved:
                readers[copy.source] -= 1
    return plan


class CopySweep:
    """One computation on its way to having copies."""

    def __init__(
        self, old: Computation, copies_at: CopiesByOperand, names: NameSupply, log: Log
    ) -> None:
        self.old, self.copies_at, self.names, self.log = old, copies_at, names, log
        self.made: list[Instruction] = []
        self.became: dict[Instruction, Instruction] = {}

    @cached_property
    def used_once(self) -> set[str]:
        """The names of values that one instruction uses or waits for, once, or only the caller."""
        needs = ((*i.operands, *i.control_predecessors) for i in self.old.instructions)
        uses = Counter(o.name for needed in needs for o in needed)
        uses[self.old.root.name] += 1
        return {name for name, count in uses.items() if count == 1}

    def computation(self) -> Computation:
        """The new computation; the old one where it needs no copies."""
        old, copies_at = self.old, self.copies_at
        is_read = (True, old.name) in copies_at
        if not is_read and not any((False, i.name) in copies_at for i in old.instructions):
            return old
        for instr in old.instructions:
            self.became[instr] = new = self._updated(instr)
            self.made.append(new)
        root = self.became[old.root]
        for copies in copies_at.get((True, old.name), {}).values():
            root = self._copied(root, copies)
        if tuple(self.made) == old.instructions:
            return old
        return replace(old, instructions=tuple(self.made), root=root)

    def _updated(self, instr: Instruction) -> Instruction:
        operands = [self.became[o] for o in instr.operands]
        before = tuple(self.became[p] for p in instr.control_predecessors)
        for number, copies in self.copies_at.get((False, instr.name), {}).items():
            operands[number] = self._copied(operands[number], copies)
        if tuple(operands) == instr.operands and before == instr.control_predecessors:
            return instr
        return instr.with_(operands=tuple(operands), control_predecessors=before)

    def _copied(self, instr: Instruction, copies: Copies) -> Instruction:
        """An instruction with copies in place of some leaves."""
        indices = [index for index, _ in instr.shape.leaves()]
        known: dict[Index, Instruction] = {(): instr}
        done: dict[Index, Instruction] = {}
        before = len(self.made)
        if instr.opcode != "tuple":
            for number in range(len(instr.shape.elements)):
                self._element(known, (number,))
        for wanted in (*copies.saved, *copies.order):
            index = indices[wanted.leaf]
            source = done.get(index) or self._element(known, index)
            copy = Instruction(
                self.names.unique("copy"), "copy", source.shape, (source,),
                annotations=Annotations(metadata=source.annotations.metadata),
            )  # fmt: skip
            if self.log.rewrite(wanted.rule, source, copy):
                self.made.append(copy)
                done[index] = copy
        if not done:
            del self.made[before:]
            return instr
        return self._assembled(known, done, (), is_free=True)

    def _element(self, known: dict[Index, Instruction], index: Index) -> Instruction:
        """The element at an index into a tuple."""
        if index not in known:
            whole = self._element(known, index[:-1])
            if whole.opcode == "tuple":
                known[index] = whole.operands[index[-1]]
            else:
                element = Instruction(
                    self.names.unique("get-tuple-element"), "get-tuple-element",
                    whole.shape.elements[index[-1]], (whole,), GetTupleElement(index=index[-1]),
                )  # fmt: skip
                self.made.append(element)
                known[index] = element
        return known[index]

    def _assembled(
        self,
        known: dict[Index, Instruction],
        done: dict[Index, Instruction],
        index: Index,
        *,
        is_free: bool,
    ) -> Instruction:
        """The element at an index, with the copies in it.

        Parameters
        ----------
        is_free : whether the tuple that it is an element of, if any, is needed no more.
        """
        if index in done:
            return done[index]
        old = self._element(known, index)
        if not any(i[: len(index)] == index for i in done):
            return old
        plain = old.opcode == "tuple" and not old.control_predecessors
        is_free = is_free and plain and old.name in self.used_once
        parts = [
            self._assembled(known, done, (*index, n), is_free=is_free)
            for n in range(len(old.shape.elements))
        ]
        new = Instruction(
            old.name, "tuple", tuple_of(*(p.shape for p in parts)), tuple(parts),
            annotations=old.annotations, span=old.span,
        )  # fmt: skip
        if is_free:
            self.made.remove(old)
        else:
            new = new.with_(name=self.names.unique("tuple"), annotations=Annotations())
        self.made.append(new)
        return new
