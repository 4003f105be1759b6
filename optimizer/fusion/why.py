"""Why two instructions are computed in one kernel, or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.error import HloError, did_you_mean
from optimizer.fusion.decision import FusionDecision
from optimizer.fusion.instruction_fusion import planned, sequential_computations
from optimizer.fusion.policy import POLICIES

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module


def why_fused(module: Module, producer: str, consumer: str, target: str = "cpu") -> FusionDecision:
    """The decision of instruction fusion on a producer and one of its consumers.

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
        told = f"%{source.name} and %{user.name} are in different computations"
        return FusionDecision(False, "computation", told)
    planner = planned(module, computation, POLICIES[target])
    decision = planner.decisions[source]
    if source not in user.operands:
        home = planner.homes[source]
        shared = [group for group in planner.homes[user] if group in home]
        if shared and decision:
            return decision
        told = f"%{user.name} is no user of %{source.name}"
        return FusionDecision(False, "no-user", told)
    return decision


def _find(module: Module, name: str) -> tuple[Computation, Instruction]:
    """An instruction, and the computation that it is in."""
    computations = sequential_computations(module)
    wanted = name.removeprefix("%")
    for computation in computations:
        for instr in computation.instructions:
            if instr.name == wanted:
                return computation, instr
    known = [i.name for c in computations for i in c.instructions]
    message = f"no computation that is fused has an instruction `{wanted}`"
    raise HloError("HLO158", message, notes=did_you_mean(wanted, known))
