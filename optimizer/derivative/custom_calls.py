"""Derivatives of custom calls, by the name of their target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from optimizer.derivative.table import differentiates, refusal, transposes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from hlo.instruction import Instruction
    from optimizer.derivative.movement import Cotangents
    from optimizer.derivative.table import Derivative, Leaves, Tangents, Transpose

CUSTOM_CALL_DERIVATIVES: dict[str, Derivative] = {}
CUSTOM_CALL_TRANSPOSES: dict[str, Transpose] = {}


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
    return _register(CUSTOM_CALL_DERIVATIVES, targets, "derivative")


def custom_call_transpose(*targets: str) -> Callable[[Transpose], Transpose]:
    """Register the decorated rule for custom calls that are linear in some operands.

    A rule of `custom_call_derivative` may make such calls of tangents.

    Parameters
    ----------
    targets : values of `custom_call_target`. The rule is called as those of `transposes`.

    Raises
    ------
    KeyError
        if a name has a rule already.
    """
    return _register(CUSTOM_CALL_TRANSPOSES, targets, "transpose")


def _register(table: dict[str, Any], targets: Sequence[str], kind: str) -> Callable[[Any], Any]:
    def register(rule: Any) -> Any:
        for target in targets:
            if target in table:
                raise KeyError(f"the {kind} of {target!r} is defined twice")
            table[target] = rule
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


@transposes("custom-call")
def custom_call_back(
    instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> Cotangents | Sequence[Leaves | Instruction | None]:
    """The rule that is registered under the call's name.

    Raises
    ------
    HloError
        HLO155 if there is none.
    """
    target = CustomCall.of(instr).custom_call_target
    rule = CUSTOM_CALL_TRANSPOSES.get(target)
    if rule is None:
        note = f"`@optimizer.derivative.custom_call_transpose({target!r})` registers one"
        raise refusal(instr, f"no transpose is registered for {target!r}", note)
    return rule(instr, cotangents, linear)
