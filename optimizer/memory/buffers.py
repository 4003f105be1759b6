"""Buffers: sets of values that share memory.

Every value begins with a buffer of its own. Then buffers are united, the most important wishes
first: an output of the module with the parameter that was donated for it, an instruction that
updates an array with that array, and where control flow joins, what comes in with what it becomes.
Two buffers can be united only if no value of the one is needed while a value of the other is; a
wish that fails for that is where a copy is needed.

This is how compilers leave SSA form: copy at every join, then unite what allows it.

References
----------
XLA, `xla/hlo/analysis/hlo_alias_analysis.cc` and the live range merging of
`xla/service/copy_insertion.cc`. Boissinot et al., "Revisiting out-of-SSA translation for
correctness, code quality, and efficiency", CGO 2009.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hlo.instruction import Computation
from optimizer.analysis.alias import DEFAULT
from optimizer.analysis.dataflow import Dataflow, Join, Several, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Instruction, Module
    from optimizer.analysis.alias import AliasInfo, InPlace

Stay = tuple[int, int, Value]  # first and last moment in which a value needs its buffer


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory that some values take turns in.

    Attributes
    ----------
    stays : in the order of their first moments.
    fixed : a value that must not be overwritten: a constant, or a parameter that is not donated.
    output : the output of the module that it becomes.
    """

    values: list[Value]
    stays: list[Stay]
    fixed: Value | None = None
    output: Value | None = None

    @property
    def bytes(self) -> int:
        """The size of the buffer, where elements do not share bytes."""
        return self.values[0].shape.unpacked_bytes


class Clash(NamedTuple):
    """Two values that are needed at the same moment, so that they can't share a buffer."""

    one: Value
    other: Value
    moment: int


class Refusal(NamedTuple):
    """A wish that failed: an instruction's update in place, or a join."""

    wish: Update | Join
    clash: Clash


class Update(NamedTuple):
    """An instruction that wants to write a result where an operand is."""

    instruction: Instruction
    pair: InPlace
    source: Value | Several | None
    target: Value


class Buffers:
    """The buffers of a module's values.

    Parameters
    ----------
    flow : of the same computations, if it is known.

    Attributes
    ----------
    of : the buffer of each value.
    refused : what must be copied; nothing, after copy insertion.
    """

    def __init__(
        self, module: Module, info: AliasInfo = DEFAULT, flow: Dataflow | None = None
    ) -> None:
        self.flow = flow or Dataflow(module, info)
        self.info = info
        self.of: dict[Value, Buffer] = {}
        self.refused: list[Refusal] = []
        self._donated = self._donations(module)
        for value in self.flow.values:
            self.of[value] = self._own(value)
        for parameter, output in self._donated.items():
            self._unite(parameter, output)
        for update in self._updates():
            self._wish(update)
        for join in self._joins():
            self._wish(join)

    def __iter__(self) -> Iterator[Buffer]:
        """All buffers, in the order of their first values."""
        return iter(dict.fromkeys(self.of[value] for value in self.flow.values))

    def _donations(self, module: Module) -> dict[Value, Value]:
        """The parameters that are donated, and the outputs that they are donated for."""
        donations: dict[Value, Value] = {}
        leaves = [index for index, _ in module.entry.root.shape.leaves()]
        for alias in module.header.input_output_alias:
            parameter = module.entry.parameters[alias.parameter]
            indices = [index for index, _ in parameter.shape.leaves()]
            if alias.parameter_index not in indices or alias.output_index not in leaves:
                continue
            source = self.flow.at[parameter][indices.index(alias.parameter_index)]
            target = self.flow.outputs[leaves.index(alias.output_index)]
            if isinstance(source, Value) and target:
                donations[source] = target
        return donations

    def _own(self, value: Value) -> Buffer:
        stays = [(first, last, value) for first, last in value.live]
        is_fixed = value.kind == "parameter" and value not in self._donated
        fixed = value if is_fixed or value.kind == "constant" else None
        return Buffer([value], stays, fixed, value if value.kind == "output" else None)

    def _updates(self) -> Iterator[Update]:
        at = self.flow.at
        for instr in self.flow.timeline.order:
            for pair in self.info.must_share(instr):
                target = at[instr][pair.leaf]
                assert isinstance(target, Value)
                source = at[instr.operands[pair.operand]][pair.operand_leaf]
                yield Update(instr, pair, source, target)

    def _joins(self) -> list[Join]:
        """Copies that were put there for a join first, then those that would run most often."""
        timeline = self.flow.timeline
        depths: dict[Computation, int] = {}
        # Callers come before callees.
        for computation, loop in timeline.loop.items():
            depths[computation] = depths[loop.home] + 1 if loop else 0

        def depth(join: Join) -> int:
            return depths[join.at if isinstance(join.at, Computation) else timeline.home[join.at]]

        def is_copy(join: Join) -> bool:
            return isinstance(join.source, Value) and join.source.instruction.opcode == "copy"

        return sorted(self.flow.joins, key=lambda j: (not is_copy(j), -depth(j)))

    # ---------------------------------------------------------------- uniting

    def _wish(self, wish: Update | Join) -> None:
        if isinstance(wish.source, Value):
            clash = self._unite(wish.source, wish.target)
        else:
            clash = Clash(wish.target, wish.target, wish.target.time)
        if clash:
            self.refused.append(Refusal(wish, clash))

    def _unite(self, one: Value, other: Value) -> Clash | None:
        """Let two values share a buffer, or give the reason why they can't."""
        larger, merged = self.of[one], self.of[other]
        if larger is merged:
            return None
        clash = self.clash(larger, merged)
        if clash:
            return clash
        if len(larger.values) < len(merged.values):
            larger, merged = merged, larger
        for stay in merged.stays:
            larger.stays.insert(bisect_right(larger.stays, stay[0], key=_first), stay)
        larger.values += merged.values
        larger.output = larger.output or merged.output
        self.of.update(dict.fromkeys(merged.values, larger))
        return None

    def share(self, one: Value, other: Value) -> bool:
        """Let two values share a buffer, if they can."""
        return self._unite(one, other) is None

    def clash(self, one: Buffer, other: Buffer) -> Clash | None:
        """A moment in which both buffers are needed."""
        fixed = one.fixed or other.fixed
        if fixed:
            strange = (other if fixed is one.fixed else one).values[0]
            return Clash(fixed, strange, strange.time)
        if one.output and other.output:
            return Clash(one.output, other.output, one.output.time)
        few, many = sorted((one, other), key=lambda b: len(b.stays))
        for first, last, value in few.stays:
            k = bisect_right(many.stays, last, key=_first) - 1
            while k >= 0 and many.stays[k][1] >= first:
                start, _, neighbour = many.stays[k]
                if not self._handed_over(value, neighbour, max(first, start)):
                    return Clash(value, neighbour, max(first, start))
                k -= 1
        return None

    def _handed_over(self, one: Value, other: Value, moment: int) -> bool:
        """Whether the later value is written, at the moment, where the earlier one is read."""
        old, new = (one, other) if other.time == moment else (other, one)
        if new.time != moment or old.time == moment or new.kind != "result":
            return False
        # The stay of the old value that reaches the moment must end there.
        if any(first <= moment < last for first, last in old.live):
            return False
        instr = new.instruction
        pairs = [(p.operand, p.operand_leaf, p.leaf) for p in self.info.must_share(instr)]
        for number, operand in enumerate(instr.operands):
            for leaf, shown in enumerate(self.flow.at[operand]):
                if isinstance(shown, Several) and old in shown:
                    return False
                if shown is not old or (number, leaf, new.leaf) in pairs:
                    continue
                if not self.info.may_share(instr, number, new.leaf):
                    return False
        return True


def _first(stay: Stay) -> int:
    return stay[0]
