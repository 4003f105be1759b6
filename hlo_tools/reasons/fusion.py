"""Reasons why two instructions are computed in one kernel, or in two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.fusion.decision import FusionDecision
from optimizer.fusion.instruction_fusion import InstructionFusion, planned
from optimizer.fusion.kernels import sequential_computations
from optimizer.fusion.multi_output_fusion import merged
from optimizer.fusion.policy import POLICIES
from optimizer.fusion.priority_fusion import PriorityFusion, prioritized
from optimizer.instruction_lookup import instruction_named
from optimizer.log import Log

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module


def why_fused(module: Module, producer: str, consumer: str, target: str = "cpu") -> FusionDecision:
    """The decision on a producer and one of its consumers, or on two that read the same.

    Vertical fusion decides first, by rules or for a GPU by time; then multi-output fusion, on the
    module that vertical fusion leaves.

    Parameters
    ----------
    producer, consumer : names of instructions of one computation, with or without "%".

    Raises
    ------
    HloError
        HLO158 if there is no such instruction in a computation that is fused.
    """
    computation, source = _find(module, producer)
    elsewhere, user = _find(module, consumer)
    if elsewhere is not computation:
        message = f"%{source.name} and %{user.name} are in different computations"
        return FusionDecision(False, "computation", message)
    if target == "gpu":
        planner = prioritized(module, computation)
    else:
        planner = planned(module, computation, POLICIES[target])
    decision = planner.decisions[source]
    groups = planner.computed_in[source]
    if any(group in groups for group in planner.computed_in[user]):
        # Where others read it from memory, it is stored, and computed here all the same.
        return planner.repeated.get(source, decision)
    later = _why_merged(module, computation, {source.name}, {user.name}, target)
    if source not in user.operands:
        message = f"%{user.name} is no user of %{source.name}"
        return FusionDecision(False, "no-user", message) if later is None else later
    if later is None or decision:
        return decision
    message = f"{decision.text}; and with both as results of one kernel: {later.text}"
    return later if later else FusionDecision(False, decision.rule, message)


def _why_merged(
    module: Module, computation: Computation, one: set[str], other: set[str], target: str
) -> FusionDecision | None:
    """The decision of multi-output fusion on the kernels of two instructions, if there is one."""
    vertical = PriorityFusion() if target == "gpu" else InstructionFusion(target)
    fused = vertical.run(module, Log())
    rebuilt = next(c for c in fused.computations if c.name == computation.name)
    last: FusionDecision | None = None
    for kernels, decision in merged(fused, rebuilt, POLICIES[target]).decisions.items():
        first, second = ({m.name for m in kernel.members} for kernel in kernels)
        if (one <= first and other <= second) or (other <= first and one <= second):
            last = decision
            if decision:
                break
    return last


def _find(module: Module, name: str) -> tuple[Computation, Instruction]:
    computation_of = {i: c for c in sequential_computations(module) for i in c.instructions}
    instr = instruction_named(
        name, computation_of, module, "no computation that is fused has an instruction {}"
    )
    return computation_of[instr], instr
