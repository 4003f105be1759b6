"""Arrays that a module makes, the names under which each is seen, and their live ranges.

A *value* is one array that one instruction makes, or one part of a loop's state. Every leaf of
every instruction's shape shows a value: its own, or, where the instruction only hands memory on,
another's. Where control flow joins, several values become one: the initial state and what the body
yields become the loop's state. Such a *join* wants its source and target in the same memory.

References
----------
XLA, `xla/hlo/analysis/hlo_dataflow_analysis.cc`, with phi nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from hlo import attributes as a
from hlo.opcode import DONE_OF, having
from hlo.support.nesting import unnested
from optimizer.analysis.alias import DEFAULT
from optimizer.analysis.live_ranges import last_iteration, spans
from optimizer.analysis.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape
    from optimizer.analysis.alias import AliasInfo
    from optimizer.analysis.live_ranges import Moment
    from optimizer.analysis.timeline import WhileInterval

# Collectives that begin at one instruction, and end at another.
COLLECTIVE_STARTS = having("collective") & having("start")
COLLECTIVE_ENDS = frozenset(DONE_OF[start] for start in COLLECTIVE_STARTS)

Kind = Literal["result", "parameter", "constant", "state", "choice", "output"]


@dataclass(eq=False, slots=True)
class Value:
    """An array in memory.

    Attributes
    ----------
    instruction, leaf : which leaf of whose shape it is.
    kind : a "result" of an instruction; a "parameter" of the module; a "constant"; a part of a
        loop's "state"; what the branches of a conditional leave, a "choice"; or an "output" of the
        module.
    made : the moment at which it is written.
    live : the spans of moments in which it is needed, in order; both ends belong to them.
    """

    instruction: Instruction
    leaf: int
    shape: Shape
    kind: Kind
    time: int
    live: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def name(self) -> str:
        """The instruction, and the index into its shape: `while.3{1}`."""
        if not self.instruction.shape.is_tuple:
            return self.instruction.name
        index = [i for i, _ in self.instruction.shape.leaves()][self.leaf]
        return f"{self.instruction.name}{{{','.join(map(str, index))}}}"

    def __repr__(self) -> str:
        """Its name, and when it is needed."""
        return f"<value {self.name} {self.live}>"


class Several(tuple[Value, ...]):
    """The values behind a leaf that is computed anew wherever it is used."""

    __slots__ = ()


Leaf = Value | Several | None  # None for a token
# Those of a computation, found by `unnested`.
Nested: TypeAlias = "Generator[Any, Any, tuple[Leaf, ...]]"


class Join(NamedTuple):
    """At one point, a value becomes another, which then wants its memory.

    Attributes
    ----------
    at : a computation, for its root; or a loop, for its operand.
    leaf : which leaf of that.
    """

    source: Leaf
    target: Value
    at: Computation | Instruction
    leaf: int


class _Read(NamedTuple):
    leaf: Leaf
    moment: int
    where: Computation


class Dataflow:
    """The values of a module, and its joins.

    Attributes
    ----------
    values : in the order in which they are made.
    at : what each leaf of each instruction shows.
    joins : in the order of the line of time.
    unread : values that nobody reads.

    Raises
    ------
    HloError
        HLO170 if a computation has several sequential callers.
    """

    def __init__(self, module: Module, info: AliasInfo = DEFAULT) -> None:
        self.module, self.info = module, info
        self.timeline = Timeline(module)
        self.values: list[Value] = []
        self.at: dict[Instruction, tuple[Leaf, ...]] = {}
        self.joins: list[Join] = []
        self.outputs: tuple[Value | None, ...] = ()
        self.unread: frozenset[Value] = frozenset()
        self._same: dict[Value, Leaf] = {}
        self._reads: list[_Read] = []
        self._loops: dict[Value, WhileInterval] = {}
        self._starts: dict[Instruction, list[int]] = {}
        self._handlers = {
            "async-done": self._done,
            "async-start": self._async_start,
            **dict.fromkeys(COLLECTIVE_ENDS, self._collective_done),
            **dict.fromkeys(COLLECTIVE_STARTS, self._collective_start),
            "async-update": self._async_update,
            "call": self._call,
            "conditional": self._conditional,
            "copy-done": self._done,
            "copy-start": self._copy_start,
            "while": self._while,
        }
        self._entry(module.entry)
        self._settle()
        self._find_live()

    @cached_property
    def next_states(self) -> dict[Instruction, list[tuple[int, Join]]]:
        """The joins in which an instruction's result is a loop's next state, numbered."""
        states: dict[Instruction, list[tuple[int, Join]]] = {}
        for numbered in enumerate(self.joins):
            source, target, *_ = numbered[1]
            if target.kind == "state" and isinstance(source, Value):
                states.setdefault(source.instruction, []).append(numbered)
        return states

    def read_by(self, instr: Instruction) -> tuple[Value, ...]:
        """The values that an instruction which is computed anew reads wherever it is used."""
        leaves = self.at.get(instr, ())
        return tuple(v for leaf in leaves if isinstance(leaf, Several) for v in leaf)

    # ------------------------------------------------------------------ values

    def _value(self, instr: Instruction, leaf: int, shape: Shape, kind: Kind, time: int) -> Value:
        value = Value(instr, leaf, shape, kind, time)
        self.values.append(value)
        return value

    def _values(self, instr: Instruction, kind: Kind, time: int) -> tuple[Leaf, ...]:
        """A value for each array of an instruction's shape."""
        return tuple(
            self._value(instr, n, shape, kind, time) if shape.is_array else None
            for n, (_, shape) in enumerate(instr.shape.leaves())
        )

    def _read(self, leaves: Iterable[Leaf], moment: int, computation: Computation) -> None:
        self._reads += [_Read(leaf, moment, computation) for leaf in leaves if leaf is not None]

    def _entry(self, entry: Computation) -> None:
        first, last = self.timeline.first[entry], self.timeline.last[entry]
        arguments = [self._values(p, "parameter", first) for p in entry.parameters]
        results = unnested(self._computation(entry, arguments))
        self.outputs = tuple(
            self._value(entry.root, n, shape, "output", last + 1) if shape.is_array else None
            for n, (_, shape) in enumerate(entry.root.shape.leaves())
        )
        self._join(results, self.outputs, entry, last, entry)

    def _join(
        self,
        sources: Sequence[Leaf],
        targets: Sequence[Leaf],
        at: Computation | Instruction,
        moment: int,
        home: Computation,
    ) -> None:
        """Read, at a moment, the leaves that become other values then; None becomes no other."""
        for n, (source, target) in enumerate(zip(sources, targets, strict=True)):
            if isinstance(target, Value):
                self._read([source], moment, home)
                self.joins.append(Join(source, target, at, n))

    def _computation(self, computation: Computation, inputs: Sequence[tuple[Leaf, ...]]) -> Nested:
        """Go through a computation; gives the values of its root."""
        self.at.update(zip(computation.parameters, inputs, strict=True))
        for instr in computation.instructions:
            if instr.opcode != "parameter":
                shown = self._shown(instr, computation)
                self.at[instr] = shown if isinstance(shown, tuple) else (yield shown)
        return self.at[computation.root]

    def _shown(self, instr: Instruction, home: Computation) -> tuple[Leaf, ...] | Nested:
        """The values that the leaves of an instruction's shape show."""
        if instr.opcode in self._handlers:
            return self._handlers[instr.opcode](instr, home)
        operands = [leaf for o in instr.operands for leaf in self.at[o]]
        if self.info.forwards(instr):
            return self._forwarded(instr, operands)
        now = self.timeline.time[instr]
        if instr.opcode == "constant":
            return self._values(instr, "constant", now)
        if instr in self.info.recomputed:
            return (Several(dict.fromkeys(_values_behind(operands))),)
        self._read(operands, now, home)
        return self._values(instr, "result", now)

    def _forwarded(self, instr: Instruction, operands: Sequence[Leaf]) -> tuple[Leaf, ...]:
        if instr.opcode == "get-tuple-element":
            attrs = a.GetTupleElement.of(instr)
            return self._element(instr.operands[0], attrs.index)
        count = len(operands) if instr.opcode == "tuple" else len(self.at[instr.operands[0]])
        return tuple(operands[:count])

    def _element(self, instr: Instruction, index: int) -> tuple[Leaf, ...]:
        """The values that an element of a tuple shows."""
        if instr not in self._starts:
            starts = [0]
            for element in instr.shape.elements:
                starts.append(starts[-1] + sum(1 for _ in element.leaves()))
            self._starts[instr] = starts
        starts = self._starts[instr]
        return self.at[instr][starts[index] : starts[index + 1]]

    # ------------------------------------------------------------ control flow

    def _while(self, instr: Instruction, home: Computation) -> Nested:
        timeline, (condition, body) = self.timeline, instr.called
        initial = self.at[instr.operands[0]]
        state = self._values(instr, "state", timeline.first[condition])
        for value in state:
            if isinstance(value, Value):
                loop = timeline.loop[condition]
                assert loop is not None
                self._loops[value] = loop
        goes_on = yield self._computation(condition, [state])
        self._read(goes_on, timeline.last[condition], condition)
        following = yield self._computation(body, [state])
        # What the body hands on unchanged is the initial value all the time.
        changing = list(state)
        for n, (value, after) in enumerate(zip(state, following, strict=True)):
            if isinstance(value, Value) and self._find(after) is value:
                self._same[value] = initial[n]
                changing[n] = None
        self._join(initial, changing, instr, timeline.entry[instr], home)
        self._join(following, changing, body, timeline.last[body], body)
        return state

    def _conditional(self, instr: Instruction, home: Computation) -> Nested:
        timeline = self.timeline
        self._read(self.at[instr.operands[0]], timeline.entry[instr], home)
        results: list[tuple[Leaf, ...]] = []
        for callee, operand in zip(instr.called, instr.operands[1:], strict=True):
            results.append((yield self._computation(callee, [self.at[operand]])))
        choices = list(self._values(instr, "choice", timeline.time[instr]))
        shown = list(choices)
        for n, leaves in enumerate(zip(*results, strict=True)):
            value = choices[n]
            # Where all branches leave the same value, there is nothing to choose.
            if isinstance(value, Value) and len(set(map(self._find, leaves))) == 1:
                self._same[value] = leaves[0]
                choices[n], shown[n] = None, leaves[0]
        for callee, leaves in zip(instr.called, results, strict=True):
            self._join(leaves, choices, callee, timeline.last[callee], callee)
        return tuple(shown)

    def _call(self, instr: Instruction, _home: Computation) -> Nested:
        return self._computation(instr.called[0], [self.at[o] for o in instr.operands])

    def _async_start(self, instr: Instruction, home: Computation) -> Nested:
        """The leaves of ((operands), result, contexts); operands live until the done."""
        operands = [leaf for o in instr.operands for leaf in self.at[o]]
        known = [*operands, *(yield self._call(instr, home))]
        rest = list(instr.shape.leaves())[len(known) :]
        now = self.timeline.time[instr]
        context = [
            self._value(instr, len(known) + n, shape, "result", now) if shape.is_array else None
            for n, (_, shape) in enumerate(rest)
        ]
        return (*known, *context)

    def _async_update(self, instr: Instruction, _home: Computation) -> tuple[Leaf, ...]:
        return self.at[instr.operands[0]]

    def _done(self, instr: Instruction, home: Computation) -> tuple[Leaf, ...]:
        """The result, which is first in what copies give at their start, second in others."""
        self._read(self.at[instr.operands[0]], self.timeline.time[instr], home)
        return self._element(instr.operands[0], 0 if instr.opcode == "copy-done" else 1)

    def _copy_start(self, instr: Instruction, home: Computation) -> tuple[Leaf, ...]:
        """(the copy, the operand, a context)."""
        operand = self.at[instr.operands[0]]
        now = self.timeline.time[instr]
        self._read(operand, now, home)
        values = self._values(instr, "result", now)
        return (*values[: len(operand)], *operand, *values[2 * len(operand) :])

    def _collective_start(self, instr: Instruction, home: Computation) -> tuple[Leaf, ...]:
        """The results; or the operands, the results, and contexts."""
        operands = [leaf for o in instr.operands for leaf in self.at[o]]
        now = self.timeline.time[instr]
        self._read(operands, now, home)
        before = operands_shown(instr)
        values = (
            self._value(instr, n, shape, "result", now) if shape.is_array else None
            for n, (_, shape) in enumerate(instr.shape.leaves())
            if n >= before
        )
        return (*operands[:before], *values)

    def _collective_done(self, instr: Instruction, home: Computation) -> tuple[Leaf, ...]:
        """The results of the start, whose operands are read until now."""
        start, now = instr.operands[0], self.timeline.time[instr]
        self._read((leaf for o in start.operands for leaf in self.at[o]), now, home)
        self._read(self.at[start], now, home)
        return self._element(start, 1) if operands_shown(start) else self.at[start]

    # -------------------------------------------------------------- live spans

    def _find(self, leaf: Leaf) -> Leaf:
        """The value that another one turned out to be."""
        root = leaf
        while isinstance(root, Value) and root in self._same:
            root = self._same[root]
        # The next time, the way is short.
        while isinstance(leaf, Value) and leaf in self._same:
            self._same[leaf], leaf = root, self._same[leaf]
        return root

    def _settled(self, leaf: Leaf) -> Leaf:
        """A leaf that shows no value's second name."""
        if not isinstance(leaf, Several):
            return self._find(leaf)
        values = dict.fromkeys(map(self._find, leaf))
        return Several(value for value in values if isinstance(value, Value))

    def _settle(self) -> None:
        """Let everything show values that are no other's second name."""
        if self._same:
            self.at = {i: tuple(map(self._settled, leaves)) for i, leaves in self.at.items()}
            self._reads = [r._replace(leaf=self._settled(r.leaf)) for r in self._reads]
            self.joins = [j._replace(source=self._settled(j.source)) for j in self.joins]
            self.values = [v for v in self.values if v not in self._same]

    def _find_live(self) -> None:
        reads: dict[Value, list[Moment]] = {v: [] for v in self.values}
        for leaf, moment, where in self._reads:
            for value in _values_behind([leaf]):
                reads[value].append(last_iteration(self.timeline, value.time, (moment, where)))
        self.unread = frozenset(value for value, moments in reads.items() if not moments)
        for value, moments in reads.items():
            value.live = self._spans(value, moments)

    def _spans(self, value: Value, moments: list[Moment]) -> list[tuple[int, int]]:
        if value not in self._loops:
            return spans(self.timeline, value.time, moments)
        # A loop's state ends with the iteration, unless the loop ends: that is after the condition.
        loop = self._loops[value]
        inside = [m for m in moments if m[0] <= loop.last]
        outside = [m for m in moments if m[0] > loop.last]
        if not outside:
            return spans(self.timeline, value.time, inside)
        condition = value.instruction.called[0]
        inside.append((self.timeline.last[condition], condition))
        within = spans(self.timeline, value.time, inside)
        return within + spans(self.timeline, loop.last, outside)


def operands_shown(start: Instruction) -> int:
    """The number of leaves of operands with which the value of a collective's start begins."""
    if start.opcode == "all-reduce-start" or not start.shape.is_tuple:
        return 0
    return sum(1 for _ in start.shape.elements[0].leaves())


def _values_behind(leaves: Iterable[Leaf]) -> Iterator[Value]:
    for leaf in leaves:
        if isinstance(leaf, Several):
            yield from leaf
        elif leaf is not None:
            yield leaf
