"""Computes producers in the loops of their consumers, so that their values never reach memory.

    p = f32[n] multiply(y, z)
    s = f32[n] add(x, p)          becomes   r = f32[] fusion(x, y, z, zero), kind=kLoop
    r = f32[] reduce(s, zero)

Which, is decided for the whole computation first (`optimizer.fusion.groups`); then it is rebuilt
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import SEQUENTIAL
from hlo.walk import names_of, rebuild, rebuild_module
from optimizer.effects import dead, without
from optimizer.fusion.build import fused
from optimizer.fusion.groups import GroupPlanner
from optimizer.fusion.policy import POLICIES
from optimizer.passes import register

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

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
    target : whose policy: cpu or gpu.
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
    sequential = {c.name for c in sequential_computations(module)}

    def change(computation: Computation) -> Computation:
        if computation.name not in sequential:
            return computation
        groups = groups_of(computation)
        order = {instr: n for n, instr in enumerate(computation.instructions)}
        homes = _homes(groups.values())
        plan: dict[Instruction, Instruction] = {}
        gone: set[str] = set()
        for root in sorted(groups, key=order.__getitem__):
            group = groups[root]
            if not group.worth_a_fusion:
                continue
            members = sorted(group.members, key=order.__getitem__)
            own = {m for m in members if homes[m] == 1}
            made = fused(members, [root], names, own, _kind(group, target))
            if log.rewrite("fuse", root, made):
                plan[root] = made
                gone.update(m.name for m in members)
        return without_fused(rebuild(computation, plan), gone)

    return rebuild_module(module, change)


def planned(module: Module, computation: Computation, policy: Policy) -> GroupPlanner:
    """What to fuse in one computation of a module."""
    header = module.header
    return GroupPlanner(
        computation, policy, sharded=header.num_partitions * header.replica_count > 1
    )


def sequential_computations(module: Module) -> list[Computation]:
    """The computations whose instructions run one after the other, each with its own buffers."""
    found: dict[Computation, None] = {}
    stack = [module.entry]
    while stack:
        computation = stack.pop()
        if computation not in found:
            found[computation] = None
            for instr in computation.instructions:
                stack += instr.called if instr.opcode in SEQUENTIAL else ()
    return list(found)


def _homes(groups: Iterable[FusionGroup]) -> dict[Instruction, int]:
    """In how many groups each instruction is computed."""
    homes: dict[Instruction, int] = {}
    for group in groups:
        for member in group.members:
            homes[member] = homes.get(member, 0) + 1
    return homes


def _kind(group: FusionGroup, target: str) -> str:
    """A GPU emits loops over what a reduce reads in another way: kInput."""
    return "kInput" if target == "gpu" and group.root.opcode == "reduce" else "kLoop"


def without_fused(computation: Computation, fused_names: Collection[str]) -> Computation:
    """A computation without the instructions that now only fusions compute."""
    gone = {i for i in dead(computation) if i.name in fused_names}
    # Dead instructions that no fusion computes are not ours to remove, nor what they use.
    for instr in reversed(computation.instructions):
        if instr not in gone:
            gone.difference_update(instr.operands, instr.control_predecessors)
    return without(computation, gone)
