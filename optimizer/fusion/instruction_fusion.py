"""Fuses producers into the loops of their consumers, so that their values never reach memory.

    p = f32[n] multiply(y, z)
    s = f32[n] add(x, p)          becomes   r = f32[] fusion(x, y, z, zero), kind=kLoop
    r = f32[] reduce(s, zero)

`optimizer.fusion.groups` decides first, for the whole computation, which producers go into which
loops; then the computation is rebuilt once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.walk import names_of
from optimizer.fusion.build import fused
from optimizer.fusion.groups import GroupPlanner
from optimizer.fusion.kernels import NewKernel, with_kernels
from optimizer.fusion.policy import POLICIES
from optimizer.passes import register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.fusion.groups import FusionGroup
    from optimizer.fusion.policy import Policy
    from optimizer.log import Log

    GroupsOf = Callable[[Computation], Mapping[Instruction, FusionGroup]]


@register
@dataclass(frozen=True)
class InstructionFusion:
    """Vertical fusion of producers into their consumers.

    Attributes
    ----------
    target : the target whose policy decides: cpu or gpu.
    """

    name = "fusion"
    xla = "xla/service/instruction_fusion.cc, xla/service/cpu/cpu_instruction_fusion.cc"
    target: str = "cpu"

    def run(self, module: Module, log: Log) -> Module:
        """The module with fusions."""
        policy = POLICIES[self.target]
        return fuse(module, log, lambda c: planned(module, c, policy).groups, self.target)


def fuse(module: Module, log: Log, groups_of: GroupsOf, target: str) -> Module:
    """A module with a fusion for each group of instructions that is worth one.

    Parameters
    ----------
    groups_of : the groups of a computation, by the instruction that is stored.
    """
    names = names_of(module)

    def kernels(computation: Computation) -> Iterator[NewKernel]:
        groups = groups_of(computation)
        order = {instr: n for n, instr in enumerate(computation.instructions)}
        counts = _group_counts(groups.values())
        for root in sorted(groups, key=order.__getitem__):
            group = groups[root]
            if not group.worth_a_fusion:
                continue
            members = sorted(group.members, key=order.__getitem__)
            own = {m for m in members if counts[m] == 1}
            fusion = fused(members, [root], names, own, _kind(group, target))
            yield NewKernel(root, fusion, {root: fusion}, [m.name for m in members])

    return with_kernels(module, log, "fuse", kernels)


def planned(module: Module, computation: Computation, policy: Policy) -> GroupPlanner:
    """The fusion groups of one computation of a module."""
    return GroupPlanner(computation, policy, module.header)


def _group_counts(groups: Iterable[FusionGroup]) -> dict[Instruction, int]:
    """The number of groups that compute each instruction."""
    counts: dict[Instruction, int] = {}
    for group in groups:
        for member in group.members:
            counts[member] = counts.get(member, 0) + 1
    return counts


def _kind(group: FusionGroup, target: str) -> str:
    """The kind of a fusion, by which the emitter for GPUs chooses loops: kInput of a reduction."""
    return "kInput" if target == "gpu" and group.root.opcode == "reduce" else "kLoop"
