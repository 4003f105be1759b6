"""The correspondence of two modules' instructions, by structure and not by name.

The same program has other names and numbers when it comes out of another compiler run. So two
instructions are taken for the same one, in this order: if they compute the same, down to the
parameters and constants; if what uses them, or what they use, was found to be the same; if they
have the same name; and last if they are in the same order among those that are left.

References
----------
XLA, `xla/hlo/tools/hlo_diff`, which matches subtrees by fingerprints and then from both ends.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from hlo.names import NameSupply
from hlo.walk import users

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from hlo.instruction import Computation, Instruction, Module

# Of more instructions that are left, no common order is looked for.
_MOST_LEFT = 2000


@dataclass
class Matching:
    """Pairs of corresponding instructions and computations.

    Attributes
    ----------
    instructions, computations : of the first module, each with that of the second one.
    """

    instructions: dict[Instruction, Instruction] = field(default_factory=dict[Any, Any])
    computations: dict[Computation, Computation] = field(default_factory=dict[Any, Any])

    @property
    def renamed(self) -> int:
        """The number of instructions with another name in the second module."""
        return sum(old.name != new.name for old, new in self.instructions.items())


def match(before: Module, after: Module) -> Matching:
    """Find which instruction of a module is which of another one."""
    prints: dict[Hashable, int] = {}
    marks = _fingerprints(before, prints) | _fingerprints(after, prints)
    matching = Matching()
    pending = [(before.entry, after.entry)]
    pending += _left_over(before, after, marks)
    taken: set[Computation] = set()
    while pending:
        old, new = pending.pop(0)
        if old in matching.computations or new in taken:
            continue
        matching.computations[old] = new
        taken.add(new)
        pairs = _Pairs(old, new, marks).matched()
        matching.instructions |= pairs
        called: list[tuple[Computation, Computation]] = []
        for old_caller, new_caller in pairs.items():
            called += zip(old_caller.called, new_caller.called, strict=False)
        # Those that matched instructions call come before those that are left over.
        pending[:0] = called
    return matching


def _left_over(
    before: Module, after: Module, marks: dict[object, int]
) -> list[tuple[Computation, Computation]]:
    """Pairs of computations for those that no matched instruction calls: equal ones, then names."""
    equal: dict[int, list[Computation]] = defaultdict(list)
    named = {c.name: c for c in after.computations}
    for computation in after.computations:
        equal[marks[computation]].append(computation)
    pairs: list[tuple[Computation, Computation]] = []
    for computation in before.computations:
        pairs += [(computation, other) for other in equal[marks[computation]]]
    return pairs + [(c, named[c.name]) for c in before.computations if c.name in named]


def _fingerprints(module: Module, prints: dict[Hashable, int]) -> dict[object, int]:
    """A number for each instruction and computation: the same for those that compute the same."""
    marks: dict[object, int] = {}
    for computation in module.computations:
        for instr in computation.instructions:
            key = (
                instr.opcode,
                instr.shape.without_layout,
                instr.attrs,
                tuple(marks[o] for o in instr.operands),
                tuple(marks[c] for c in instr.called),
            )
            marks[instr] = prints.setdefault(key, len(prints))
        marks[computation] = prints.setdefault(("root", marks[computation.root]), len(prints))
    return marks


class _Pairs:
    """The instructions of two computations on their way to each other."""

    def __init__(self, old: Computation, new: Computation, marks: dict[object, int]) -> None:
        self.old, self.new, self.marks = old, new, marks
        self.forth: dict[Instruction, Instruction] = {}
        self.back: dict[Instruction, Instruction] = {}
        self.old_users, self.new_users = users(old), users(new)

    def matched(self) -> dict[Instruction, Instruction]:
        """Each instruction of the first computation that has one in the second."""
        # Those that compute the same, and of several such ones, those that are used alike.
        self.by_key(lambda i: (self.marks[i], i.name))
        self.by_key(lambda i: self.marks[i], alone=True)
        self.follow(alike=True)
        self.by_key(lambda i: self.marks[i])
        self.pair(self.old.root, self.new.root, alike=True)
        self.by_key(lambda i: (i.opcode, i.name))
        self.follow(alike=True)
        self.in_order()
        self.follow(alike=True)
        self.by_key(lambda i: i.name)
        self.pair(self.old.root, self.new.root, alike=False)
        self.follow(alike=False)
        return {i: self.forth[i] for i in self.old.instructions if i in self.forth}

    def by_key(self, key: Callable[[Instruction], Hashable], *, alone: bool = False) -> None:
        """Pair those of the same key, the first with the first, the second with the second.

        Parameters
        ----------
        alone : only where there is one on each side.
        """
        olds, news = self.unmatched(key)
        for value, first in olds.items():
            second = news.get(value, [])
            if not alone or len(first) == len(second) == 1:
                for old, new in zip(first, second, strict=False):
                    self.pair(old, new, alike=False)

    def unmatched(
        self, key: Callable[[Instruction], Hashable]
    ) -> tuple[dict[Hashable, list[Instruction]], dict[Hashable, list[Instruction]]]:
        """The instructions without a partner, by their key."""
        olds: dict[Hashable, list[Instruction]] = defaultdict(list)
        news: dict[Hashable, list[Instruction]] = defaultdict(list)
        for instr in self.old.instructions:
            if instr not in self.forth:
                olds[key(instr)].append(instr)
        for instr in self.new.instructions:
            if instr not in self.back:
                news[key(instr)].append(instr)
        return olds, news

    def follow(self, *, alike: bool) -> None:
        """Pair operands of pairs, and users of pairs at the same operand, until none is left."""
        pending = list(self.forth.items())
        while pending:
            old, new = pending.pop()
            if len(old.operands) == len(new.operands):
                pending += self.all_of(zip(old.operands, new.operands, strict=True), alike=alike)
            pending += self.all_of(self.used_alike(old, new), alike=alike)

    def used_alike(
        self, old: Instruction, new: Instruction
    ) -> Iterable[tuple[Instruction, Instruction]]:
        """Users that have two instructions as the same operand, where that tells them apart."""
        olds = [user for user in self.old_users[old] if user not in self.forth]
        news = [user for user in self.new_users[new] if user not in self.back]
        others = _by_operand(news, new)
        for operand, first in _by_operand(olds, old).items():
            second = others.get(operand, [])
            if len(first) == len(second) == 1:
                yield first[0], second[0]

    def all_of(
        self, pairs: Iterable[tuple[Instruction, Instruction]], *, alike: bool
    ) -> list[tuple[Instruction, Instruction]]:
        """Pair several; gives those that were paired now."""
        return [(old, new) for old, new in list(pairs) if self.pair(old, new, alike=alike)]

    def pair(self, old: Instruction, new: Instruction, *, alike: bool) -> bool:
        """Take two for the same, if neither has a partner.

        Parameters
        ----------
        alike : only if they have the same opcode.
        """
        if old in self.forth or new in self.back or (alike and old.opcode != new.opcode):
            return False
        self.forth[old], self.back[new] = new, old
        return True

    def in_order(self) -> None:
        """Pair those of the same opcode and shape that are in the same order."""
        olds = [i for i in self.old.instructions if i not in self.forth]
        news = [i for i in self.new.instructions if i not in self.back]
        if len(olds) + len(news) > _MOST_LEFT:
            return
        old_keys = [(i.opcode, i.shape.without_layout) for i in olds]
        new_keys = [(i.opcode, i.shape.without_layout) for i in news]
        blocks = SequenceMatcher(None, old_keys, new_keys, False).get_matching_blocks()
        for first, second, size in blocks:
            for n in range(size):
                self.pair(olds[first + n], news[second + n], alike=True)


def _by_operand(
    candidates: list[Instruction], used: Instruction
) -> dict[Hashable, list[Instruction]]:
    """Users by their opcode, and by the first operand as which they have an instruction."""
    sorted_out: dict[Hashable, list[Instruction]] = defaultdict(list)
    for user in candidates:
        sorted_out[user.opcode, user.operands.index(used)].append(user)
    return sorted_out


def renamed(after: Module, matching: Matching) -> Module:
    """The second module under the names of the first; new instructions get unused names."""
    back = {new: old for old, new in matching.instructions.items()}
    computations = {new: old for old, new in matching.computations.items()}
    taken = [i.name for i in matching.instructions] + [c.name for c in matching.computations]
    supply = NameSupply(taken)
    became: dict[Computation, Computation] = {}
    for computation in after.computations:
        now: dict[Instruction, Instruction] = {}
        for instr in computation.instructions:
            old = back.get(instr)
            name = old.name if old is not None else supply.unique(instr.name)
            renamed_instr = instr.rewired(
                tuple(now[o] for o in instr.operands),
                tuple(now[p] for p in instr.control_predecessors),
                tuple(became[c] for c in instr.called),
            )
            now[instr] = renamed_instr.with_(name=name)
        old_one = computations.get(computation)
        name = old_one.name if old_one is not None else supply.unique(computation.name)
        became[computation] = replace(
            computation,
            name=name,
            instructions=tuple(now.values()),
            root=now[computation.root],
        )
    return replace(
        after,
        computations=tuple(became.values()),
        entry=became[after.entry],
    )
