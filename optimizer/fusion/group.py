"""The group of instructions that one kernel computes, and how kernels ask for a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from optimizer.effects import has_effect, ordered
from optimizer.fusion.places import Places
from optimizer.fusion.policy import ELEMENTWISE, MOVEMENT
from optimizer.fusion.skew import skewed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hlo.instruction import Computation, Instruction
    from optimizer.fusion.policy import Policy


@dataclass(eq=False)
class FusionGroup:
    """The members of one kernel.

    Attributes
    ----------
    root : the instruction whose value is stored.
    members : what is computed, the root first, and the places at which it is asked for.
    operands : what is read.
    reductions, repeated, code : as the policy counts them.
    gathers : how many are computed.
    iterations : how often the innermost loop runs: evaluations of the value that has most of them.
    """

    root: Instruction
    members: dict[Instruction, Places]
    operands: dict[Instruction, None]
    reductions: int = 0
    repeated: float = 0
    code: int = 1
    gathers: int = 0
    iterations: float = 1

    def on_the_way(self, instr: Instruction) -> Iterator[Instruction]:
        """The members between a value and the result."""
        found = {instr}
        # Users were fused before their operands.
        for member in reversed(self.members):
            takes = any(operand in found for operand in member.operands)
            if takes and member.opcode in ELEMENTWISE | MOVEMENT:
                found.add(member)
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
    places : by group.
    """

    instr: Instruction
    places: dict[FusionGroup, Places] = field(default_factory=dict[FusionGroup, Places])

    @property
    def evaluations(self) -> float:
        """In all groups."""
        return sum(sum(p.values()) for p in self.places.values())

    def repeated(self, group: FusionGroup) -> float:
        """Operations that are done again, per iteration of a group's innermost loop."""
        times = sum(self.places[group].values())
        if self.instr.opcode in MOVEMENT or self.instr.opcode == "constant" or not times:
            return 0
        again = times if len(self.places) > 1 else times - self.instr.shape.size
        return max(again, 0) / max(group.iterations, times)


@dataclass(frozen=True)
class Setting:
    """The surroundings of an instruction that rules may look at.

    Attributes
    ----------
    sharded : whether the module runs on several devices.
    least : bytes that a kernel reads for each value, at least.
    """

    computation: Computation
    policy: Policy
    sharded: bool
    least: Mapping[Instruction, int]

    @cached_property
    def tied(self) -> frozenset[Instruction]:
        """Instructions with control dependencies."""
        return ordered(self.computation)

    @cached_property
    def acting(self) -> set[Instruction]:
        """Instructions that do more than compute their value."""
        return set(filter(has_effect, self.computation.instructions))

    @cached_property
    def skewed(self) -> set[Instruction]:
        """Values whose rows a reshape cuts anew."""
        return skewed(self.computation)

    @cached_property
    def wild(self) -> set[Instruction]:
        """Instructions whose sizes are known at run time only."""
        return {i for i in self.computation.instructions if i.shape.is_dynamic}
