"""Custom calls: functions outside HLO, found by name.

A function takes `(frame, instr, *operands)`; what the call says beside its operands is in
`instr.attrs` and in the backend configuration, which `config` reads.

    @custom_call("my_norm")
    def my_norm(frame, instr, x):
        return np.sqrt(np.sum(x * x))
"""

from __future__ import annotations

from functools import cache, partial
from inspect import Signature
from inspect import signature as signature_of
from typing import TYPE_CHECKING, cast

import numpy as np

from hlo.errors.error import HloError, did_you_mean
from hlo.wording import counted
from interpreter.custom_calls.signatures import check_call
from interpreter.custom_calls.vendors import import_vendors
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.attributes import CustomCall
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

CUSTOM_CALLS: dict[str, Callable[..., Value]] = {}
VENDOR_CALLS: dict[str, Callable[..., Value]] = {}


def function_of(target: str) -> Callable[..., Value] | None:
    """The function that is registered under a name; a user's own comes before a vendor's."""
    if target in CUSTOM_CALLS:
        return CUSTOM_CALLS[target]
    import_vendors()
    return VENDOR_CALLS.get(target)


def all_functions() -> dict[str, Callable[..., Value]]:
    """The functions that are registered, those of vendors too."""
    import_vendors()
    return VENDOR_CALLS | CUSTOM_CALLS


def custom_call(
    *targets: str, table: dict[str, Callable[..., Value]] = CUSTOM_CALLS
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Register the decorated function for custom calls of some names.

    Parameters
    ----------
    targets : values of `custom_call_target`. The function is called with the frame, the instruction
        and the operands, as NumPy arrays, and returns an array of the instruction's shape.

    Raises
    ------
    KeyError
        if a name has a function already.
    """

    def register(function: Callable[..., Value]) -> Callable[..., Value]:
        for target in targets:
            if target in table:
                raise KeyError(f"the custom call {target!r} is defined twice")
            table[target] = function
        return function

    return register


vendor_call = partial(custom_call, table=VENDOR_CALLS)


@evaluates("custom-call", xla="CustomCall")
def evaluate_custom_call(
    frame: Frame, instr: Instruction, attrs: CustomCall, *operands: Value
) -> Value:
    """Call the function that is registered under the call's name.

    Raises
    ------
    HloError
        HLO121 if there is none, HLO122 if operands, result or options are not what it expects, or
        if it yields another shape than the instruction has.
    """
    target = attrs.custom_call_target
    function = function_of(target)
    if function is None:
        register = f"`@interpreter.custom_call({target!r})` registers a function"
        message = f"{instr.name}: no function is registered for the custom call {target!r}"
        notes = [*did_you_mean(target, all_functions()), register]
        raise HloError("HLO121", message, instr.span, notes)
    check_call(instr)
    if (signature := _signature(function)) is not None:
        try:
            signature.bind(frame, instr, *operands)
        except TypeError as error:
            count = counted(len(operands), "operand")
            message = f"{instr.name}: {target} does not take {count}: {error}"
            raise HloError("HLO122", message, instr.span) from None
    value = function(frame, instr, *operands)
    if (wrong := _misfit(value, instr.shape)) is not None:
        message = f"{instr.name}: {target} yields {wrong}, which is no {instr.shape}"
        raise HloError("HLO122", message, instr.span)
    return value


@cache
def _signature(function: Callable[..., Value]) -> Signature | None:
    """The parameters of a function; None of one in C that does not tell them."""
    try:
        return signature_of(function)
    except ValueError:
        return None


def _misfit(value: Value, shape: Shape) -> str | None:
    """The shape of a value that should have another one, as text."""
    if shape.is_tuple:
        parts = cast("tuple[Value, ...]", value) if isinstance(value, tuple) else (value,)
        if len(parts) != len(shape.elements):
            return f"{counted(len(parts), 'value')}"
        wrong = (
            _misfit(part, element) for part, element in zip(parts, shape.elements, strict=True)
        )
        return next((text for text in wrong if text is not None), None)
    if not shape.is_array:
        return None
    array = np.asarray(value)
    # A dynamic dimension may be smaller than its bound.
    fits = array.ndim == shape.rank and all(
        n == size or (shape.dynamic_at(d) and n < size)
        for d, (n, size) in enumerate(zip(array.shape, shape.dims, strict=True))
    )
    right = fits and array.dtype == shape.element_type.dtype
    return None if right else f"{array.dtype}{list(array.shape)}"
