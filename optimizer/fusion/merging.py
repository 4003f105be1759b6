"""Decides which kernels of a computation become one with several results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.opcode import CONTROL, having
from hlo.walk import users
from hlo.wording import counted
from optimizer.fusion.contraction import Contraction
from optimizer.fusion.decision import FusionDecision
from optimizer.fusion.merge_rules import MERGE_RULES, OF_LOOPS, Merge
from optimizer.fusion.merged import MergedKernel, mergeable

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

    from hlo.instruction import Computation, Instruction
    from optimizer.fusion.policy import Policy

# They may change their first operand's memory.
_UPDATING = having("updating") | CONTROL | {"fusion"}
# A guard against long searches: how many of the kernels that read a value are tried with each of
# the others.
_NEIGHBOURS = 8


class Merger:
    """The kernels of one computation, merged as far as they may be.

    Attributes
    ----------
    kernels : those that there are at the end.
    decisions : on pairs of kernels that were looked at.
    """

    def __init__(self, computation: Computation, policy: Policy, *, sharded: bool = False) -> None:
        self._computation, self._policy = computation, policy
        self._users = users(computation)
        kernels = mergeable(computation, self._users, policy, sharded=sharded)
        self.kernels = dict.fromkeys(kernels)
        nodes = {part: kernel for kernel in self.kernels for part in kernel.parts}
        self._graph = Contraction(computation, self._users, nodes)
        self._changing = self._find_changing()
        self.decisions: dict[tuple[MergedKernel, MergedKernel], FusionDecision] = {}
        while self._merge_readers():
            pass

    # ------------------------------------------------------------------ search

    def _merge_readers(self) -> bool:
        """Try the kernels that have to do with each value; tells whether any were merged."""
        merged = False
        for instr in self._computation.instructions:
            if instr.shape.is_array and (instr.shape.size > 1 or self._is_kernel(instr)):
                merged |= self._merge_around(instr)
        return merged

    def _is_kernel(self, instr: Instruction) -> bool:
        return isinstance(self._graph.node(instr), MergedKernel)

    def _around(self, instr: Instruction) -> list[MergedKernel]:
        """The kernel that computes a value, and those that read it, in order."""
        nodes = (self._graph.node(i) for i in (instr, *self._users[instr]))
        kernels = dict.fromkeys(n for n in nodes if isinstance(n, MergedKernel))
        return sorted(kernels, key=self._graph.number)

    def _merge_around(self, instr: Instruction) -> bool:
        kernels, start = self._around(instr), 0
        count = len(kernels)
        while start < len(kernels):
            near = range(start + 1, min(start + 1 + _NEIGHBOURS, len(kernels)))
            for other in near:
                merged = self._merged(kernels[start], kernels[other])
                if merged is not None:
                    kernels[start] = merged
                    del kernels[other]
                    break
            else:
                start += 1
        return len(kernels) < count

    def _merged(self, one: MergedKernel, other: MergedKernel) -> MergedKernel | None:
        """Two kernels as one, if they may be."""
        first, second = sorted((one, other), key=self._graph.number)
        if (first, second) in self.decisions:
            return None
        merge = Merge(self._policy, first, second, self._needed)
        between: set[Hashable] | None = set()
        if merge.least_operands <= self._policy.operands:
            between = self._graph.between(first, second)
        decision = self.decisions[first, second] = self._decide(merge, is_circle=between is None)
        if not decision or between is None:
            return None
        first.forget()
        second.forget()
        self._graph.merge(first, second, between, merge.kernel)
        del self.kernels[first], self.kernels[second]
        self.kernels[merge.kernel] = None
        return merge.kernel

    def _needed(self, instr: Instruction, parts: Collection[Instruction]) -> bool:
        """Whether others than some instructions need a value."""
        using = self._users[instr]
        result = instr is self._computation.root
        return result or not using or any(user not in parts for user in using)

    def _decide(self, merge: Merge, *, is_circle: bool) -> FusionDecision:
        first, second = merge.first, merge.second
        if (least := merge.least_operands) > (most := self._policy.operands):
            message = f"one kernel would have {least} operands or more; at most {most}"
            return FusionDecision(False, "size", message)
        if is_circle:
            message = (
                f"%{second.parts[0].name} needs something else that needs %{first.parts[0].name}"
            )
            return FusionDecision(False, "cycle", message)
        if (changed := self._changed_between(first, second)) is not None:
            message = f"%{changed.name}, which one of them needs, changes what the other one reads"
            return FusionDecision(False, "in-place", message)
        for name, rule in MERGE_RULES.items():
            if name in OF_LOOPS and merge.is_elementwise:
                continue
            reason = rule(merge)
            if reason is not None:
                return FusionDecision(False, name, reason)
        message = (
            f"one kernel with {counted(len(merge.kernel.outputs), 'result')} reads and writes "
            f"{merge.saved} bytes less than two, which read and write "
            f"{first.bytes + second.bytes}"
        )
        return FusionDecision(True, "multi-output", message)

    def _changed_between(self, first: MergedKernel, second: MergedKernel) -> Instruction | None:
        """An instruction that one kernel needs, and that may change an operand of the other."""
        for reader, other in ((first, second), (second, first)):
            for operand in reader.operands:
                for user in self._changing.get(operand, ()):
                    if self._graph.reaches(self._graph.node(user), other):
                        return user
        return None

    def _find_changing(self) -> dict[Instruction, list[Instruction]]:
        """The kernels that may change the memory of each value; these are not merged."""
        operands: dict[Instruction, list[Instruction]] = {}
        for user in self._computation.instructions:
            if user.opcode in _UPDATING and not self._is_kernel(user):
                for operand in dict.fromkeys(user.operands):
                    operands.setdefault(operand, []).append(user)
        return operands
