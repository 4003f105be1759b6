"""Decides which instructions are computed together by the time that it saves, the most first.

At first every instruction is a kernel of its own. Of all kernels that may be computed in those of
their users instead, the one is taken whose fusion saves the most time in a model of the device;
then the kernels around it are judged anew, until none saves any. What is computed twice costs
arithmetic, what is stored costs memory traffic and the launch of a kernel: the model weighs them.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from hlo.attributes import Broadcast, Dimensions
from hlo.walk import users
from optimizer.analysis.cost import traffic
from optimizer.fusion.decision import Priority
from optimizer.fusion.evaluations import RESULT, Evaluations, IndexNumbers
from optimizer.fusion.group import FusionGroup, GroupDemand, Setting
from optimizer.fusion.policy import SIDE_BY_SIDE
from optimizer.fusion.rules import RULES
from optimizer.gpu.device import A100, arithmetic_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.instruction import Computation, Header, Instruction
    from optimizer.fusion.policy import Policy
    from optimizer.gpu.device import DeviceRates

# The model of time answers the questions that these rules guess at.
_MODELLED = frozenset({"expensive", "repetition", "traffic"})


class PriorityPlanner:
    """The groups of one computation.

    Attributes
    ----------
    groups : by the instruction that is stored; every instruction that is not fused has one.
    decisions : on every instruction.
    computed_in : the groups that compute an instruction.
    repeated : what is stored is never computed once more, so there are no decisions on it.

    References
    ----------
    XLA, `PriorityFusionQueue` in `xla/service/gpu/transforms/priority_fusion.cc`.
    """

    def __init__(
        self,
        computation: Computation,
        policy: Policy,
        header: Header,
        device: DeviceRates = A100,
    ) -> None:
        self.groups: dict[Instruction, FusionGroup] = {}
        self.decisions: dict[Instruction, Priority] = {}
        self.computed_in: dict[Instruction, list[FusionGroup]] = {}
        self.repeated: dict[Instruction, Priority] = {}
        self._order = {instr: n for n, instr in enumerate(computation.instructions)}
        self._users, self._device = users(computation), device
        self._numbers = IndexNumbers()
        self._seconds: dict[FusionGroup, float] = {}
        self._setting = Setting(computation, policy, header, {})
        for instr in computation.instructions:
            self.groups[instr] = self._group(instr, (instr,))
            self.computed_in[instr] = [self.groups[instr]]
        self._run()

    # ------------------------------------------------------------------ queue

    def _run(self) -> None:
        """Fuse whatever saves the most, as long as anything saves time.

        Kernels around a fused one are judged anew only when it is their iteration.
        """
        saved = {instr: self._saved(instr) for instr in self.groups}
        queue = [(-saved[i], self._order[i], i) for i in self.groups]
        heapify(queue)
        stale: dict[Instruction, None] = {}
        while queue:
            best, _, instr = heappop(queue)
            if instr not in self.groups or saved[instr] != -best:
                continue
            again = [instr] if instr in stale else list(stale) if best >= 0 else []
            if not again and best < 0:
                stale.update(self._fuse(instr))
            for near in again:
                del stale[near]
                if near in self.groups:
                    saved[near] = self._saved(near)
                    heappush(queue, (-saved[near], self._order[near], near))

    def _consumers(self, instr: Instruction) -> list[FusionGroup]:
        """The kernels that need a value that is stored."""
        return list(dict.fromkeys(g for user in self._users[instr] for g in self.computed_in[user]))

    def _trials(self, instr: Instruction) -> dict[FusionGroup, FusionGroup]:
        """The kernels of its users, and each as it would be if it computed the value itself."""
        own = self.groups[instr].members
        return {
            group: self._group(group.root, {**group.members, **own})
            for group in self._consumers(instr)
        }

    def _saved(self, instr: Instruction) -> float:
        """Seconds that fusing a kernel into its users saves; -1 if it may not be."""
        self.decisions[instr] = decision = self._decide(instr)
        return decision.saved if decision else -1.0

    def _decide(self, instr: Instruction) -> Priority:
        refused = self._forbidden(
            GroupDemand(instr, {group: {} for group in self._consumers(instr)})
        )
        if refused is not None:
            return refused
        if (grown := self._too_large(instr)) is not None:
            return grown
        trials = self._trials(instr)
        demand = GroupDemand(instr, {trial: trial.members[instr] for trial in trials.values()})
        refused = self._forbidden(demand)
        if refused is not None:
            return refused
        before = self._time(self.groups[instr]) + sum(map(self._time, trials))
        after = sum(map(self._time, trials.values()))
        where = ", ".join(f"%{group.root.name}" for group in trials)
        kernels = "the kernel" if len(trials) == 1 else "the kernels"
        message = (
            f"{kernels} of {where} would take {after * 1e6:.3f} us with %{instr.name} inside, "
            f"{before * 1e6:.3f} us with a kernel of its own"
        )
        return Priority(before > after, "priority", message, before - after)

    def _too_large(self, instr: Instruction) -> Priority | None:
        """Whether a kernel would grow beyond bounds, which needs no model to tell."""
        most, own = self._setting.policy.code, self.groups[instr].code
        large = next((g for g in self._consumers(instr) if g.code + own > most), None)
        if large is None:
            return None
        message = f"the kernel of %{large.root.name} would have more than {most} values to compute"
        return Priority(False, "size", message, 0)

    def _forbidden(self, demand: GroupDemand) -> Priority | None:
        for name, rule in RULES.items():
            if name not in _MODELLED and (reason := rule(self._setting, demand)) is not None:
                return Priority(False, name, reason, 0)
        return None

    def _fuse(self, instr: Instruction) -> dict[Instruction, None]:
        """Compute a kernel in those of its users; gives the kernels that are to be judged anew."""
        trials = self._trials(instr)
        gone = self.groups.pop(instr)
        for old, new in ((gone, None), *trials.items()):
            for member in old.members:
                self.computed_in[member].remove(old)
            if new is not None:
                self.groups[new.root] = new
                for member in new.members:
                    self.computed_in[member].append(new)
        near = dict.fromkeys(o for new in trials.values() for o in (new.root, *new.operands))
        return {i: None for i in near if i in self.groups}

    # ------------------------------------------------------------------ model

    def _group(self, root: Instruction, members: Iterable[Instruction]) -> FusionGroup:
        """The group of a kernel that computes some instructions and stores the value of one."""
        # Of an update only the new elements are computed; the others are in memory already.
        computed = root.operands[1] if root.opcode == "dynamic-update-slice" else root
        needed: dict[Instruction, Evaluations] = {root: {RESULT: computed.shape.first_leaf.size}}
        group = FusionGroup(root, {}, {})
        for member in sorted(members, key=self._order.__getitem__, reverse=True):
            evaluations = group.members[member] = needed.pop(member)
            for number, operand in enumerate(member.operands):
                merged = needed.setdefault(operand, {})
                more = self._numbers.evaluations_of_operand(member, number, evaluations)
                if side_by_side(root, member):
                    more = {i: n / member.shape.dims[-1] for i, n in more.items()}
                for index, count in more.items():
                    merged[index] = max(merged.get(index, 0), count)
        group.operands = dict.fromkeys(needed)
        group.code = sum(map(len, group.members.values()))
        small = self._setting.policy.is_small_fold
        group.reductions = sum(m.opcode == "reduce" and not small(m) for m in group.members)
        return group

    def _time(self, group: FusionGroup) -> float:
        """About how many seconds a kernel takes."""
        if group not in self._seconds:
            device, arithmetic = self._device, 0.0
            for member, evaluations in group.members.items():
                share = sum(evaluations.values()) / max(member.shape.first_leaf.size, 1)
                arithmetic += share * arithmetic_seconds(member, device)
            read, written = traffic(reversed(group.members), [group.root])
            memory = (sum(read.values()) + written) / device.memory
            self._seconds[group] = device.launch + max(arithmetic, memory)
        return self._seconds[group]


def side_by_side(root: Instruction, spread: Instruction) -> bool:
    """Whether a thread that folds all of a few columns needs a value for them only once.

    That is what a broadcast spreads along the columns of a reduce that computes the result.
    """
    if root.opcode != "reduce" or spread.opcode != "broadcast":
        return False
    last, shape = spread.shape.rank - 1, root.operands[0].shape
    if not spread.shape.dims or not shape.dims:
        return False
    columns = last not in Dimensions.of(root).dimensions and shape.dims[-1] < SIDE_BY_SIDE
    whole = shape.dims == spread.shape.dims
    return columns and whole and last not in Broadcast.of(spread).dimensions
