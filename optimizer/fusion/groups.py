"""Decides which instructions are computed together: the plan of instruction fusion.

The planner visits instructions from the result backwards, so the users of each are settled before
it. An instruction is either *stored*, and then begins a group of its own, or it is computed in the
groups of all its users, once more in each of them. No cycles can arise from that. A value that is
made of few bytes may be both: stored for users that read it from memory, and computed in others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.walk import users
from optimizer.fusion.decision import FusionDecision
from optimizer.fusion.evaluations import RESULT, Evaluations, IndexNumbers
from optimizer.fusion.group import FusionGroup, GroupDemand, Setting
from optimizer.fusion.rules import RULES
from optimizer.fusion.sources import least_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.instruction import Computation, Header, Instruction
    from optimizer.fusion.policy import Policy


# These rules refuse because of some users; the other users may compute the value all the same.
_OF_SOME_USERS = ("consumer", "in-place")


class GroupPlanner:
    """The groups of one computation.

    Attributes
    ----------
    groups : by the instruction that is stored; every instruction that is not fused has one.
    decisions : on every instruction.
    computed_in : the groups that compute an instruction.
    repeated : decisions to compute what is stored once more in some groups.
    """

    def __init__(self, computation: Computation, policy: Policy, header: Header) -> None:
        self.groups: dict[Instruction, FusionGroup] = {}
        self.decisions: dict[Instruction, FusionDecision] = {}
        self.repeated: dict[Instruction, FusionDecision] = {}
        least = least_bytes(computation, policy)
        self._setting = Setting(computation, policy, header, least)
        self.computed_in: dict[Instruction, list[FusionGroup]] = {}
        self._users = users(computation)
        self._numbers = IndexNumbers()
        self._of_operands: dict[Instruction, dict[Instruction, list[int]]] = {}
        for instr in reversed(computation.instructions):
            self._settle(instr)

    def _settle(self, instr: Instruction) -> None:
        """Decide on one instruction, and carry the decision out."""
        demand = self._demand(instr)
        decision = self.decisions[instr] = self._decide(demand)
        self.computed_in[instr] = []
        if not decision:
            self._store(instr)
            demand = self._able_groups(demand, decision)
            if not demand.by_group or not (again := self._decide(demand)):
                return
            self.repeated[instr] = again
        self.computed_in[instr] += demand.by_group
        for group, evaluations in demand.by_group.items():
            group.repeated += demand.repeated(group)
            group.reductions += instr.opcode == "reduce"
            group.gathers += instr.opcode == "gather"
            group.code += len(evaluations)
            group.iterations = max(group.iterations, *evaluations.values())
            group.members[instr] = evaluations
            del group.operands[instr]
            group.operands.update(dict.fromkeys(instr.operands))

    def _store(self, instr: Instruction) -> None:
        """Begin the group of an instruction whose value is stored."""
        # Of an update only the new elements are computed; the others are in memory already.
        computed = instr.operands[1] if instr.opcode == "dynamic-update-slice" else instr
        evaluations: Evaluations = {RESULT: computed.shape.first_leaf.size}
        operands = dict.fromkeys(instr.operands)
        group = FusionGroup(instr, {instr: evaluations}, operands, int(instr.opcode == "reduce"))
        group.iterations = max(1, *evaluations.values())
        group.gathers = int(instr.opcode == "gather")
        self.groups[instr] = group
        self.computed_in[instr].append(group)

    def _able_groups(self, demand: GroupDemand, refused: FusionDecision) -> GroupDemand:
        """The demand of the groups that may compute a value which others read from memory."""
        instr, setting = demand.instr, self._setting
        reading = sum(setting.least_bytes[o] for o in dict.fromkeys(instr.operands))
        cheap = not setting.policy.is_expensive(instr) and 2 * reading <= instr.shape.bytes
        if refused.rule not in _OF_SOME_USERS or not cheap:
            return GroupDemand(instr)
        alone = [GroupDemand(instr, {group: own}) for group, own in demand.by_group.items()]
        able = [a for a in alone if not any(RULES[r](setting, a) for r in _OF_SOME_USERS)]
        return GroupDemand(instr, {group: own for a in able for group, own in a.by_group.items()})

    def _demand(self, instr: Instruction) -> GroupDemand:
        """The evaluations of a value in the groups that compute its users."""
        demand = GroupDemand(instr)
        for user in self._users[instr]:
            for group in self.computed_in[user]:
                merged = demand.by_group.setdefault(group, {})
                for number in self._operands_of(user)[instr]:
                    own = group.members[user]
                    more = self._numbers.evaluations_of_operand(user, number, own)
                    for index, count in more.items():
                        merged[index] = max(merged.get(index, 0), count)
        return demand

    def _operands_of(self, user: Instruction) -> Mapping[Instruction, Sequence[int]]:
        """The numbers of each operand of an instruction: a tuple may have thousands."""
        known = self._of_operands.get(user)
        if known is None:
            known = self._of_operands[user] = {}
            for number, operand in enumerate(user.operands):
                known.setdefault(operand, []).append(number)
        return known

    def _decide(self, demand: GroupDemand) -> FusionDecision:
        """The decision of the first rule that objects; if none does, to fuse."""
        for name, rule in RULES.items():
            reason = rule(self._setting, demand)
            if reason is not None:
                return FusionDecision(False, name, reason)
        instr = demand.instr
        where = ", ".join(f"%{group.root.name}" for group in demand.by_group)
        saved = (
            f"%{instr.name} is computed in the kernel of {where}, {demand.evaluations:.0f} times "
            f"for {instr.shape.size} elements; its {instr.shape.bytes} bytes are neither written "
            "nor read"
        )
        return FusionDecision(True, "saves-memory", saved)
