"""Derivatives of custom calls, by the name of their target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from optimizer.derivative.table import differentiates, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Instruction
    from optimizer.derivative.table import Derivative, Leaves, Tangents

CUSTOM_CALL_DERIVATIVES: dict[str, Derivative] = {}


def custom_call_derivative(*targets: str) -> Callable[[Derivative], Derivative]:
    """Register the decorated rule for custom calls of some names.

    Parameters
    ----------
    targets : values of `custom_call_target`. The rule is called with the instruction and the
        tangents of each operand's leaves, and returns those of its result's leaves.

    Raises
    ------
    KeyError
        if a name has a rule already.
    """

    def register(rule: Derivative) -> Derivative:
        for target in targets:
            if target in CUSTOM_CALL_DERIVATIVES:
                raise KeyError(f"the derivative of {target!r} is defined twice")
            CUSTOM_CALL_DERIVATIVES[target] = rule
        return rule

    return register


@differentiates("custom-call")
def custom_call(instr: Instruction, tangents: Sequence[Leaves]) -> Tangents:
    """The rule that is registered under the call's name.

    Raises
    ------
    HloError
        HLO155 if there is none.
    """
    target = CustomCall.of(instr).custom_call_target
    rule = CUSTOM_CALL_DERIVATIVES.get(target)
    if rule is None:
        note = f"`@optimizer.derivative.custom_call_derivative({target!r})` registers one"
        raise refusal(instr, f"no rule is registered for {target!r}", note)
    return rule(instr, tangents)
