"""Evaluates generated modules safely: on all devices that they name, with bounded loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.errors.error import HloError
from hlo.opcode import SEQUENTIAL
from hlo.sharded import partitions_of
from hlo.walk import called_first
from interpreter.engine.device import Device
from interpreter.engine.evaluate import evaluate
from interpreter.groups import devices_named
from interpreter.numbers.widths import type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Computation, Module
    from interpreter.engine.frame import Evaluation
    from interpreter.numbers.compare import Promise

Value = Any  # an array, None for a token, or a tuple of values

# So many instructions may run; a module of a few dozen needs a few thousand, loops included.
MOST_EVENTS = 20_000
# A pass may make loops of one instruction.
MOST_EVENTS_AFTER = 500_000
# Devices that a module may need.
MOST_DEVICES = 4


class EndlessError(Exception):
    """A module ran for longer than it should."""


class Limit:
    """An observer that ends a run after a number of instructions."""

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def __call__(self, event: Evaluation) -> None:  # noqa: ARG002
        """Count an instruction."""
        self.left -= 1
        if self.left < 0:
            raise EndlessError(f"it runs for more than {self.most:,} instructions")


def run(
    module: Module,
    arguments: Sequence[Value],
    most: int = MOST_EVENTS,
    devices: int | Sequence[Device] | None = None,
) -> Value:
    """The values of a module on as many devices as it names, with each other's arguments turned.

    Parameters
    ----------
    most : how many instructions may run.
    devices : on these, or on so many; None for as many as the module is for.

    Raises
    ------
    EndlessError
        if it takes too long.
    TypeError
        if it gives what can't be compared, such as a handle.
    """
    devices = devices or devices_of(module)
    on = [Device() for _ in range(devices)] if isinstance(devices, int) else devices
    per_device = [[turned(a, device) for a in arguments] for device in range(len(on))]
    values = evaluate(module, per_device=per_device, devices=on, observe=Limit(most))
    for leaf in leaves(tuple(values)):
        type_of(leaf)
    return values[0] if len(on) == 1 else tuple(values)


def devices_of(module: Module) -> int:
    """The number of devices of a module: where it does not say, as many as its collectives name."""
    try:
        partitions = partitions_of(module)
    except HloError:
        # Its calls cut arrays into no parts; who evaluates it will see that.
        partitions = 1
    said = module.header.replica_count * partitions
    return said if said > 1 else min(devices_named(module), MOST_DEVICES)


def turned(value: Value, device: int) -> Value:
    """The argument of a device: the same elements as on the others, in another order."""
    if isinstance(value, tuple):
        return tuple(turned(element, device) for element in cast("tuple[Value, ...]", value))
    if value is None or not device:
        return value
    array: Any = np.asarray(value)
    return np.roll(array.reshape(-1), device).reshape(array.shape)


def leaves(value: Value) -> list[Any]:
    """The arrays of a value in order."""
    if isinstance(value, tuple):
        return [leaf for e in cast("tuple[Value, ...]", value) for leaf in leaves(e)]
    return [] if value is None else [np.asarray(value)]


def rounds(promise: Promise) -> bool:
    """Whether a promise forgives rounding errors."""
    return bool(promise.ulps or promise.rtol or promise.atol)


def running(module: Module) -> list[Computation]:
    """The computations that run on arrays: all but those of scalars that folds and sorts call."""

    def callees(computation: Computation) -> list[Computation]:
        return [c for i in computation.instructions if i.opcode in RUNNING for c in i.called]

    entered = [module.entry]
    for computation in entered:
        entered += [c for c in callees(computation) if c not in entered]
    return [c for c in called_first(module.entry) if c in entered]


# Opcodes that run their computations once as they are, rather than for each element.
RUNNING = SEQUENTIAL | {"fusion"}
