"""The group of instructions that one kernel computes, and the demand of groups for a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from hlo.effects import has_effect, ordered
from optimizer.fusion.evaluations import Evaluations
from optimizer.fusion.policy import ELEMENTWISE, MOVEMENT
from optimizer.fusion.skew import skewed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hlo.instruction import Computation, Header, Instruction
    from optimizer.fusion.policy import Policy


@dataclass(eq=False)
class FusionGroup:
    """The members of one kernel.

    Attributes
    ----------
    root : the instruction whose value is stored.
    members : the instructions computed, the root first, each with its evaluations.
    operands : the instructions whose values are read.
    reductions, repeated, code : as the policy counts them.
    gathers : the number of gathers among the members.
    iterations : how often the innermost loop runs: evaluations of the value that has most of them.
    """

    root: Instruction
    members: dict[Instruction, Evaluations]
    operands: dict[Instruction, None]
    reductions: int = 0
    repeated: float = 0
    code: int = 1
    gathers: int = 0
    iterations: float = 1

    def from_root_to(self, instr: Instruction) -> Iterator[Instruction]:
        """The members between the root and a value, through which the value reaches the root."""
        members = {instr}
        # Users were fused before their operands.
        for member in reversed(self.members):
            takes = any(operand in members for operand in member.operands)
            if takes and member.opcode in ELEMENTWISE | MOVEMENT:
                members.add(member)
                yield member

    @property
    def worth_a_fusion(self) -> bool:
        """Whether anything but numbers is computed besides the root."""
        return any(m.opcode != "constant" for m in self.members if m is not self.root)


@dataclass
class GroupDemand:
    """The demand of the users' groups for a value.

    Attributes
    ----------
    by_group : the evaluations that each group needs.
    """

    instr: Instruction
    by_group: dict[FusionGroup, Evaluations] = field(default_factory=dict[FusionGroup, Evaluations])

    @property
    def evaluations(self) -> float:
        """The number of evaluations in all groups."""
        return sum(sum(counts.values()) for counts in self.by_group.values())

    def repeated(self, group: FusionGroup) -> float:
        """Operations that are done again, per iteration of a group's innermost loop."""
        times = sum(self.by_group[group].values())
        if self.instr.opcode in MOVEMENT or self.instr.opcode == "constant" or not times:
            return 0
        again = times if len(self.by_group) > 1 else times - self.instr.shape.size
        return max(again, 0) / max(group.iterations, times)


@dataclass(frozen=True)
class Setting:
    """The surroundings of an instruction that rules may look at.

    Attributes
    ----------
    header : of the module.
    least_bytes : the least number of bytes that a kernel must read to compute each value.
    """

    computation: Computation
    policy: Policy
    header: Header
    least_bytes: Mapping[Instruction, int]

    @property
    def sharded(self) -> bool:
        """Whether the module runs on several devices."""
        return self.header.num_partitions * self.header.replica_count > 1

    @cached_property
    def control_dependent(self) -> frozenset[Instruction]:
        """Instructions with control dependencies."""
        return ordered(self.computation)

    @cached_property
    def effectful(self) -> set[Instruction]:
        """Instructions that do more than compute their value."""
        return set(filter(has_effect, self.computation.instructions))

    @cached_property
    def skewed(self) -> set[Instruction]:
        """Values that a reshape splits into rows of another length."""
        return skewed(self.computation)

    @cached_property
    def dynamic(self) -> set[Instruction]:
        """Instructions whose sizes are known at run time only."""
        return {i for i in self.computation.instructions if i.shape.is_dynamic}
