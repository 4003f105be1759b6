"""Custom calls: functions outside HLO, found by name.

A function takes `(frame, instr, *operands)`; what the call says beside its operands is in
`instr.attrs` and in the backend configuration, which `config` reads.

    @custom_call("my_norm")
    def my_norm(frame, instr, x):
        return np.sqrt(np.sum(x * x))
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from hlo.error import HloError, did_you_mean
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.attributes import CustomCall
    from hlo.instruction import Instruction
    from interpreter.frame import Frame
    from interpreter.table import Value

CUSTOM_CALLS: dict[str, Callable[..., Value]] = {}

# `key = 76 : ui8`, `key = "text"`, `key = true`: a dictionary as MLIR writes it.
_ENTRY = re.compile(r'(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|[^,:}\s]+)')


def custom_call(*targets: str) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Register the decorated function as what custom calls of some names do."""

    def register(function: Callable[..., Value]) -> Callable[..., Value]:
        for target in targets:
            if target in CUSTOM_CALLS:
                raise KeyError(f"the custom call {target!r} is defined twice")
            CUSTOM_CALLS[target] = function
        return function

    return register


@evaluates("custom-call")
def evaluate_custom_call(
    frame: Frame, instr: Instruction, attrs: CustomCall, *operands: Value
) -> Value:
    """Call the function that is registered under the call's name.

    Raises
    ------
    HloError
        HLO121 if there is none.

    References
    ----------
    XLA operation semantics, CustomCall.
    """
    target = attrs.custom_call_target
    function = CUSTOM_CALLS.get(target)
    if function is None:
        register = f"`@interpreter.custom_call({target!r})` registers a function"
        message = f"{instr.name}: no function is registered for the custom call {target!r}"
        notes = [*did_you_mean(target, CUSTOM_CALLS), register]
        raise HloError("HLO121", message, instr.span, notes)
    return function(frame, instr, *operands)


def config(instr: Instruction) -> dict[str, Any]:
    """The backend configuration of a custom call: JSON, or a dictionary as MLIR writes it.

    An integer that stands for a letter, as LAPACK's options do, is left an integer.
    """
    text = instr.annotations.backend_config
    if text.startswith('"') and text.endswith('"'):
        text = text[1:-1].replace('\\"', '"')
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {key: _scalar(value) for key, value in _ENTRY.findall(text)}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
