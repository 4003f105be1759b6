"""Decides which instructions are computed together: the plan of instruction fusion.

Instructions are looked at from the result backwards, so the users of each are settled before it.
An instruction is either *stored*, and then begins a group of its own, or it is computed in the
groups of all its users, in each of them anew. No cycles can arise from that. What is made of next
to nothing may be both: stored for users that read it from memory, and computed in the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.walk import users
from optimizer.fusion.decision import FusionDecision
from optimizer.fusion.group import FusionGroup, GroupDemand, Setting
from optimizer.fusion.places import RESULT, PlaceNumbers, Places
from optimizer.fusion.rules import RULES
from optimizer.fusion.sources import least_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hlo.instruction import Computation, Instruction
    from optimizer.fusion.policy import Policy


# These refuse for the sake of some users; others may be able to compute the value.
_OF_SOME_USERS = ("consumer", "in-place")


class GroupPlanner:
    """The groups of one computation.

    Attributes
    ----------
    groups : by the instruction that is stored; every instruction that is not fused has one.
    decisions : on every instruction.
    homes : the groups that compute an instruction.
    repeated : decisions to compute what is stored once more in some groups.
    """

    def __init__(self, computation: Computation, policy: Policy, *, sharded: bool = False) -> None:
        self.groups: dict[Instruction, FusionGroup] = {}
        self.decisions: dict[Instruction, FusionDecision] = {}
        self.repeated: dict[Instruction, FusionDecision] = {}
        least = least_bytes(computation, policy)
        self._setting = Setting(computation, policy, sharded, least)
        self.homes: dict[Instruction, list[FusionGroup]] = {}
        self._users = users(computation)
        self._numbers = PlaceNumbers()
        self._of_operands: dict[Instruction, dict[Instruction, list[int]]] = {}
        for instr in reversed(computation.instructions):
            self._settle(instr)

    def _settle(self, instr: Instruction) -> None:
        """Decide on one instruction, and do as was decided."""
        asked = self._asked(instr)
        decision = self.decisions[instr] = self._decide(asked)
        self.homes[instr] = []
        if not decision:
            self._store(instr)
            asked = self._able(asked, decision)
            if not asked.places or not (again := self._decide(asked)):
                return
            self.repeated[instr] = again
        self.homes[instr] += asked.places
        for group, places in asked.places.items():
            group.repeated += asked.repeated(group)
            group.reductions += instr.opcode == "reduce"
            group.gathers += instr.opcode == "gather"
            group.code += len(places)
            group.iterations = max(group.iterations, *places.values())
            group.members[instr] = places
            del group.operands[instr]
            group.operands.update(dict.fromkeys(instr.operands))

    def _store(self, instr: Instruction) -> None:
        """Begin a group."""
        # Only the update is computed; the rest is there already.
        made = instr.operands[1] if instr.opcode == "dynamic-update-slice" else instr
        places: Places = {RESULT: made.shape.first_leaf.size}
        operands = dict.fromkeys(instr.operands)
        group = FusionGroup(instr, {instr: places}, operands, int(instr.opcode == "reduce"))
        group.iterations = max(1, *places.values())
        group.gathers = int(instr.opcode == "gather")
        self.groups[instr] = group
        self.homes[instr].append(group)

    def _able(self, asked: GroupDemand, refused: FusionDecision) -> GroupDemand:
        """The groups that may compute a value which others read from memory."""
        instr, setting = asked.instr, self._setting
        reading = sum(setting.least[o] for o in dict.fromkeys(instr.operands))
        cheap = not setting.policy.is_expensive(instr) and 2 * reading <= instr.shape.bytes
        if refused.rule not in _OF_SOME_USERS or not cheap:
            return GroupDemand(instr)
        alone = [GroupDemand(instr, {group: places}) for group, places in asked.places.items()]
        able = [a for a in alone if not any(RULES[r](setting, a) for r in _OF_SOME_USERS)]
        return GroupDemand(
            instr, {group: places for a in able for group, places in a.places.items()}
        )

    def _asked(self, instr: Instruction) -> GroupDemand:
        """The ways in which the kernels that need a value ask for it."""
        asked = GroupDemand(instr)
        for user in self._users[instr]:
            for group in self.homes[user]:
                merged = asked.places.setdefault(group, {})
                for number in self._operands_of(user)[instr]:
                    news = self._numbers.of_operand(user, number, group.members[user])
                    for place, times in news.items():
                        merged[place] = max(merged.get(place, 0), times)
        return asked

    def _operands_of(self, user: Instruction) -> Mapping[Instruction, Sequence[int]]:
        """The numbers of each operand of an instruction: a tuple may have thousands."""
        known = self._of_operands.get(user)
        if known is None:
            known = self._of_operands[user] = {}
            for number, operand in enumerate(user.operands):
                known.setdefault(operand, []).append(number)
        return known

    def _decide(self, asked: GroupDemand) -> FusionDecision:
        for name, rule in RULES.items():
            reason = rule(self._setting, asked)
            if reason is not None:
                return FusionDecision(False, name, reason)
        instr = asked.instr
        where = ", ".join(f"%{group.root.name}" for group in asked.places)
        saved = (
            f"%{instr.name} is computed in the kernel of {where}, {asked.evaluations:.0f} times "
            f"for {instr.shape.size} elements; its {instr.shape.bytes} bytes are neither written "
            "nor read"
        )
        return FusionDecision(True, "saves-memory", saved)
