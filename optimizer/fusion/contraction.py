"""The graph of a computation while its instructions are merged into kernels.

It must stay without cycles: two kernels may become one only if no way leads from one to the other
through a third. The nodes have numbers that grow along every edge, so a way between two nodes can
only lead through nodes with numbers between theirs, and merging renumbers only those.

References
----------
D. J. Pearce, P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic graphs".
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from hlo.walk import post_order

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from hlo.instruction import Computation, Instruction

# Guards against long searches. A way that is so long to look for counts as found.
_PATIENCE = 2000
# Numbers that are so far apart: to ask about some ways that were there at first pays then.
_FAR = 300
# The parts of a node that are asked about.
_SOME = 16


class Contraction:
    """Nodes that each stand for some instructions.

    Parameters
    ----------
    users : of each instruction.
    nodes : those that are given; every other instruction is a node of its own.
    """

    def __init__(
        self,
        computation: Computation,
        users: Mapping[Instruction, Sequence[Instruction]],
        nodes: Mapping[Instruction, Hashable],
    ) -> None:
        self._computation, self._users = computation, users
        self._node: dict[Instruction, Hashable] = {}
        self._parts: dict[Hashable, list[Instruction]] = {}
        self._number: dict[Hashable, int] = {}
        self._at: list[Hashable] = []
        self._after: dict[Instruction, list[Instruction]] = {}
        self._following: dict[Hashable, dict[Hashable, None]] = {}
        for instr in post_order(computation):
            for before in instr.control_predecessors:
                self._after.setdefault(before, []).append(instr)
            node = nodes.get(instr, instr)
            self._node[instr] = node
            self._parts.setdefault(node, []).append(instr)
            if node not in self._number:
                self._number[node] = len(self._at)
                self._at.append(node)

    def node(self, instr: Instruction) -> Hashable:
        """The node of an instruction."""
        return self._node[instr]

    def number(self, node: Hashable) -> int:
        """Numbers grow along every edge."""
        return self._number[node]

    def following(self, node: Hashable) -> dict[Hashable, None]:
        """The nodes that use a node, or have to wait for it."""
        nodes = self._following.get(node)
        if nodes is None:
            of, parts = self._node, self._parts[node]
            using = (user for part in parts for user in self._users[part])
            waiting = (user for part in parts for user in self._after.get(part, ()))
            nodes = dict.fromkeys(of[user] for user in chain(using, waiting))
            nodes.pop(node, None)
            self._following[node] = nodes
        return nodes

    def reaches(self, first: Hashable, second: Hashable) -> bool:
        """Whether `second` needs `first`, or it takes long to tell."""
        if self._number[first] > self._number[second]:
            return False
        near = self.between(first, second)
        return near is None or second in self.following(first)

    def between(self, first: Hashable, second: Hashable) -> set[Hashable] | None:
        """The nodes before `second` that need `first`; None if `second` needs one."""
        number, last = self._number, self._number[second]
        if last - number[first] > _FAR and self._is_far_circle(first, second):
            return None
        nodes = {n for n in self.following(first) if number[n] < last}
        stack = list(nodes)
        while stack and len(nodes) <= _PATIENCE:
            for node in self.following(stack.pop()):
                if node is second:
                    return None
                if number[node] < last and node not in nodes:
                    nodes.add(node)
                    stack.append(node)
        return None if stack else nodes

    @cached_property
    def _tree(self) -> dict[Instruction, tuple[int, int]]:
        """Each instruction's numbers in a tree: its own, and the first after all below it.

        Above an instruction is the last of those that it needs, so it needs all that are above it,
        and maybe others.
        """
        order = list(post_order(self._computation))
        position = {instr: i for i, instr in enumerate(order)}
        above: list[int] = []
        count = [1] * len(order)
        for instr in order:
            needed = (*instr.operands, *instr.control_predecessors)
            above.append(max((position[i] for i in needed), default=-1))
        for i in reversed(range(len(order))):
            if above[i] >= 0:
                count[above[i]] += count[i]
        start, free = [0] * len(order), 0
        next_below = [0] * len(order)
        for i, parent in enumerate(above):
            if parent >= 0:
                start[i] = next_below[parent]
                next_below[parent] += count[i]
            else:
                start[i], free = free, free + count[i]
            next_below[i] = start[i] + 1
        return {instr: (start[i], start[i] + count[i]) for i, instr in enumerate(order)}

    def _is_far_circle(self, first: Hashable, second: Hashable) -> bool:
        """Whether the tree shows that `second` needs a user of `first` that is in neither."""
        tree = self._tree
        needing = [tree[part][0] for part in self._parts[second][-_SOME:]]
        users = (user for part in self._parts[first][-_SOME:] for user in self._users[part])
        for user in islice(users, _SOME * _SOME):
            if self._node[user] not in (first, second):
                start, stop = tree[user]
                if any(start <= number < stop for number in needing):
                    return True
        return False

    def merge(
        self, first: Hashable, second: Hashable, between: set[Hashable], new: Hashable
    ) -> None:
        """Let a new node stand for two, after `between` said that it may."""
        start, stop = self._number[first], self._number[second]
        window = [n for n in self._at[start : stop + 1] if n is not first and n is not second]
        before = [n for n in window if n not in between]
        after = [n for n in window if n in between]
        following = self._following
        following[new] = self.following(first) | self.following(second)
        for node in (first, second):
            for part in self._parts[node]:
                for earlier in chain(part.operands, part.control_predecessors):
                    before_it = following.get(self._node[earlier], {})
                    if node in before_it:
                        del before_it[node]
                        before_it[new] = None
        for node in (first, second):
            following[new].pop(node, None)
            del following[node]
        self._parts[new] = self._parts.pop(first) + self._parts.pop(second)
        for part in self._parts[new]:
            self._node[part] = new
        # One number is left over; nothing has it from now on.
        for number, node in enumerate((*before, new, *after, None), start):
            self._at[number] = node
            self._number[node] = number
