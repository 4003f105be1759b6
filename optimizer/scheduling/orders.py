"""Orders of a computation's instructions that keep few bytes alive at once.

To find the best order is NP-hard already for trees with sizes that differ. Each of these is good
for some graphs: the *list* takes at every step what frees most, *depth-first* finishes one operand
before it begins the next, and *post-order* does so in the order in which operands are written.

References
----------
XLA, `xla/service/hlo_memory_scheduler.cc`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from hlo.effects import has_effect
from hlo.walk import needed_first
from optimizer.analysis.dataflow import Several, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hlo.instruction import Computation, Instruction
    from optimizer.analysis.dataflow import Dataflow


class DependencyGraph:
    """A computation as a scheduler sees it.

    Attributes
    ----------
    needs : what must come before each instruction: operands, control predecessors, the effect
        before its own, and, before what writes over a value, whoever else reads it.
    reads, makes : the values that an instruction reads and makes; what only hands memory on does
        neither.
    """

    def __init__(self, computation: Computation, flow: Dataflow) -> None:
        self.computation = computation
        self.instructions = computation.instructions
        self.needs = {i: dict.fromkeys((*i.operands, *i.control_predecessors)) for i in
                      self.instructions}  # fmt: skip
        self._order_effects()
        self.makes: dict[Instruction, list[Value]] = {}
        self.reads: dict[Instruction, list[Value]] = {}
        for instr in self.instructions:
            values = [v for v in flow.at[instr] if isinstance(v, Value)]
            self.makes[instr] = [v for v in values if v.instruction is instr and v.kind == "result"]
            hands_on = flow.info.forwards(instr) or instr in flow.info.recomputed
            self.reads[instr] = [] if hands_on else list(_read(instr, flow))
        self._order_updates(flow)

    def bytes(self, values: Iterable[Value]) -> int:
        """Bytes of some values."""
        return sum(v.shape.bytes for v in values)

    def _order_effects(self) -> None:
        """Keep instructions with effects in order: random numbers follow from those before."""
        before = None
        for instr in filter(has_effect, self.instructions):
            if before is not None:
                self.needs[instr][before] = None
            before = instr

    def _order_updates(self, flow: Dataflow) -> None:
        """Let updates in place wait for the other readers, where no circle arises from that."""
        readers: dict[Value, list[Instruction]] = {}
        for instr, values in self.reads.items():
            for value in values:
                readers.setdefault(value, []).append(instr)
        position = {instr: n for n, instr in enumerate(self.instructions)}
        # In this order, each instruction needs earlier ones; only from here on may one need a later
        # one, and then whoever comes after it may need that too.
        lowest = len(position)
        for instr, updated in self._updates(flow):
            for reader in readers.get(updated, ()):
                start = min(position[instr], lowest)
                behind = position[reader] >= start
                if reader is instr or (
                    behind and self._is_needed_by(instr, reader, position, start)
                ):
                    continue
                self.needs[instr][reader] = None
                if position[reader] > position[instr]:
                    lowest = min(lowest, position[instr])

    def _updates(self, flow: Dataflow) -> Iterator[tuple[Instruction, Value]]:
        """Instructions that write over a value: in place, or as the next state of a loop."""
        for instr in self.instructions:
            for pair in flow.info.must_share(instr):
                updated = flow.at[instr.operands[pair.operand]][pair.operand_leaf]
                if isinstance(updated, Value):
                    yield instr, updated
        own = [join for i in self.instructions for join in flow.next_states.get(i, ())]
        for _, join in sorted(own, key=lambda numbered: numbered[0]):
            assert isinstance(join.source, Value)
            if join.target in self.reads[join.source.instruction]:
                yield join.source.instruction, join.target

    def _is_needed_by(
        self,
        instr: Instruction,
        other: Instruction,
        position: Mapping[Instruction, int],
        start: int,
    ) -> bool:
        """Whether `other` needs `instr`, which nothing does that comes before a position."""
        stack, seen = [other], {other}
        while stack:
            current = stack.pop()
            if current is instr:
                return True
            for needed in self.needs[current]:
                if needed not in seen and position[needed] >= start:
                    seen.add(needed)
                    stack.append(needed)
        return False


def _read(instr: Instruction, flow: Dataflow) -> Iterator[Value]:
    """The values of this computation that an instruction reads, each once."""
    values: dict[Value, None] = {}
    for operand in instr.operands:
        for leaf in flow.at[operand]:
            for value in leaf if isinstance(leaf, Several) else (leaf,):
                if isinstance(value, Value):
                    values[value] = None
    yield from values


def post_order(graph: DependencyGraph) -> list[Instruction]:
    """Operands in the order in which they are written, each with all that it needs."""
    return _scheduled(graph, graph.needs.__getitem__)


def depth_first(graph: DependencyGraph) -> list[Instruction]:
    """Operands that much depends on first, then those whose computation takes most memory."""
    others: dict[Instruction, int] = {}
    total: dict[Instruction, int] = {}
    users = dict.fromkeys(graph.instructions, 0)
    for instr in graph.instructions:
        for needed in graph.needs[instr]:
            users[needed] += 1
    most = graph.bytes(v for make in graph.makes.values() for v in make)
    for instr in post_order(graph):
        own = graph.bytes(graph.makes[instr])
        total[instr] = min(most, own + sum(total[n] for n in graph.needs[instr]))
        below = sum(others[n] for n in graph.needs[instr])
        others[instr] = min(len(graph.instructions), max(users[instr] - 1, 0) + below)

    def ranked(instr: Instruction) -> list[Instruction]:
        return sorted(graph.needs[instr], key=lambda n: (-others[n], -total[n]))

    return _scheduled(graph, ranked)


def _scheduled(
    graph: DependencyGraph, needs: Callable[[Instruction], Iterable[Instruction]]
) -> list[Instruction]:
    """The instructions that the root needs and then, in their order, the rest."""
    starts = (graph.computation.root, *graph.instructions)
    return needed_first(starts, needs, graph.computation.parameters)


def by_list(graph: DependencyGraph) -> list[Instruction]:
    """An order by list scheduling: of all ready instructions, the one that frees most bytes net."""
    return _ListScheduler(graph).run()


class _ListScheduler:
    """Instructions that are ready to run, best first.

    Entries of outdated priority are left behind.
    """

    def __init__(self, graph: DependencyGraph) -> None:
        self.graph = graph
        self.position = {instr: n for n, instr in enumerate(graph.instructions)}
        self.readers: dict[Value, dict[Instruction, None]] = {}
        for instr, values in graph.reads.items():
            for value in values:
                self.readers.setdefault(value, {})[instr] = None
        # An instruction that only hands a value on is no reader, so the root keeps results.
        self.waiting = {instr: len(needs) for instr, needs in graph.needs.items()}
        self.users: dict[Instruction, list[Instruction]] = {i: [] for i in graph.instructions}
        for instr, needs in graph.needs.items():
            for needed in needs:
                self.users[needed].append(instr)
        self.queue: list[tuple[int, int]] = []
        self.order: dict[Instruction, None] = {}

    def run(self) -> list[Instruction]:
        """Schedule all instructions; gives them in their order."""
        for instr in self.graph.instructions:
            if not self.waiting[instr]:
                self._offer(instr)
        while self.queue:
            priority, position = heappop(self.queue)
            instr = self.graph.instructions[position]
            if instr not in self.order and priority == self._priority(instr):
                self._take(instr)
        return list(self.order)

    def _offer(self, instr: Instruction) -> None:
        heappush(self.queue, (self._priority(instr), self.position[instr]))

    def _priority(self, instr: Instruction) -> int:
        """Bytes that it takes less those that it frees; the least comes first."""
        freed = [
            value
            for value in self.graph.reads[instr]
            if value.kind == "result" and len(self.readers[value]) == 1
        ]
        return self.graph.bytes(self.graph.makes[instr]) - self.graph.bytes(freed)

    def _take(self, instr: Instruction) -> None:
        self.order[instr] = None
        for value in self.graph.reads[instr]:
            readers = self.readers[value]
            del readers[instr]
            if len(readers) == 1:
                (last,) = readers
                if not self.waiting[last]:
                    self._offer(last)
        for user in self.users[instr]:
            self.waiting[user] -= 1
            if not self.waiting[user]:
                self._offer(user)


ORDERS: dict[str, Callable[[DependencyGraph], list[Instruction]]] = {
    "post-order": post_order,
    "dfs": depth_first,
    "list": by_list,
}
