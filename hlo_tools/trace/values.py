"""The values of instructions on an input, evaluated when they are requested."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.sharded import devices_given
from hlo.wording import counted
from hlo_tools.values.arrays import leaves, random_values
from hlo_tools.values.show import printable
from interpreter import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hlo.instruction import Module
    from interpreter.engine.frame import Evaluation

Value = Any  # an array, None for a token, or a tuple of values
Inputs = list[list[Value]]  # the arguments of each device

# Modules whose values are kept.
MOST_MODULES = 8


def random_inputs(module: Module) -> Inputs:
    """Random arguments for each device that the module runs on."""
    devices = devices_given(module, module.header.replica_count)
    shapes = [parameter.shape for parameter in module.entry.parameters]
    return [random_values(shapes, device) for device in range(devices)]


class Values:
    """The values of a module's instructions on the first device, for some inputs.

    An instruction of a loop, or of a computation that is called again, has its last value.

    Parameters
    ----------
    inputs : makes the arguments of each device.
    most : how many instructions may be evaluated in one run; None for any number.
    """

    def __init__(self, inputs: Callable[[], Inputs], most: int | None = None) -> None:
        self._make_inputs, self._most = inputs, most
        self._inputs: Inputs | None = None
        self._kept: OrderedDict[Module, Mapping[str, Value]] = OrderedDict()

    @property
    def inputs(self) -> Inputs:
        """The arguments of each device, made when they are first needed."""
        if self._inputs is None:
            self._inputs = self._make_inputs()
        return self._inputs

    def of(self, module: Module) -> Mapping[str, Value]:
        """The value of each instruction that was evaluated, by name.

        Raises
        ------
        HloError
            HLO124 if a run goes on for too long.
        """
        if module not in self._kept:
            values: dict[str, Value] = {}
            count = 0

            def observe(event: Evaluation) -> None:
                nonlocal count
                count += 1
                if count == self._most:
                    message = f"a run evaluates more than {counted(count, 'instruction')}"
                    raise HloError("HLO124", message, event.instr.span)
                if event.device.number == 0:
                    values[event.instr.name] = event.value

            evaluate(module, per_device=self.inputs, observe=observe)
            self._kept[module] = values
            if len(self._kept) > MOST_MODULES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(module)
        return self._kept[module]

    def result(self, module: Module) -> Value:
        """The module's value on the first device."""
        return self.of(module)[module.entry.root.name]


def has_nan(value: Value) -> bool:
    """Whether any element of a value is NaN."""
    return any(bool(np.isnan(numbers(array)).any()) for array in leaves(value))


def numbers(array: Any) -> Any:
    """An array as one of a type of which NumPy knows whether it is NaN."""
    array_shown = printable(array)
    return array_shown if array_shown.dtype.kind in "fc" else np.zeros(())
