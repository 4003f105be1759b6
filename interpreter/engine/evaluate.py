"""`evaluate`: the value of a module for some arguments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.errors.error import HloError
from hlo.sharded import meshes_in, partitions_of, reshardings
from hlo.support.memo import call_depth
from hlo.support.nesting import with_stack
from hlo.verify import verify_once
from hlo.wording import counted
from interpreter.engine.arguments import checked_arguments
from interpreter.engine.device import Device
from interpreter.engine.elided import warn_of_elided
from interpreter.engine.frame import Evaluation, Frame, quiet
from interpreter.engine.lockstep import Lockstep
from interpreter.engine.memory import refuse_too_large
from interpreter.precision import with_explicit_precision

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Module
    from interpreter.table import Value

# Frames of Python's stack for a computation that another one calls.
FRAMES = 16


def evaluate(
    module: Module,
    *arguments: Any,
    per_device: Sequence[Sequence[Any]] | None = None,
    devices: Sequence[Device] | None = None,
    observe: Callable[[Evaluation], None] | None = None,
    max_iterations: int | None = None,
    ask: Callable[[], None] = lambda: None,
) -> Value:
    """The value of a module's entry computation for some arguments.

    Parameters
    ----------
    module : is verified, unless it was before.
    arguments : one a parameter: an array, a tuple of arguments, or None for a token.
    per_device : instead of `arguments`: those of every device; device d is replica
        d // num_partitions and partition d % num_partitions. Where calls of the module cut and
        join whole arrays (see `hlo.sharded`), one device's arguments are given to all.
    devices : the devices to run on, to fill their queues before and to read them after.
    observe : called with an `Evaluation` after every instruction; see `interpreter.engine.observe`.
    max_iterations : how often any loop may run its body at a time; None for any number of times.
        Then a loop that never ends is run forever.
    ask : called before every iteration of a loop; what it raises ends the evaluation.

    Returns
    -------
    Value
        An array, a tuple of values, or None for a token. With `per_device`, a list of them. They
        may share memory with the arguments and may be read-only.

    Raises
    ------
    HloError
        HLO020 to HLO099 if the module is not well-formed; HLO100 to HLO149 if the arguments do not
        fit, memory does not suffice, devices disagree, a loop goes on after `max_iterations`, or an
        instruction has no meaning for its operands.
    """
    verify_once(module)
    warn_of_elided(module)
    all_arguments: list[Any] = [arguments] if per_device is None else list(per_device)
    asked = len(all_arguments)
    if asked == 1 and reshardings(module):
        all_arguments *= partitions_of(module)
    lockstep = _grid(module, len(all_arguments))
    module = with_explicit_precision(module)
    refuse_too_large(module, len(all_arguments))
    running = list(devices or ())
    if devices is None or len(running) == asked == 1:
        running += [Device() for _ in all_arguments[len(running) :]]
    if len(running) != len(all_arguments):
        message = f"{counted(len(running), 'device')} and arguments for {len(all_arguments)}"
        raise HloError("HLO116", message, module.span)
    bodies: list[Callable[[], Value]] = []
    for number, (device, own) in enumerate(zip(running, all_arguments, strict=True)):
        if not isinstance(own, tuple | list):
            wanted = f"device {number} takes a tuple of arguments, not {type(own).__name__}"
            raise HloError("HLO110", wanted, module.span)
        device.replica, device.partition = divmod(number, lockstep.partitions)
        device.lockstep = lockstep
        frame = Frame(device, observe, max_iterations, ask)
        own_arguments = checked_arguments(module.entry, cast("Sequence[Any]", own))
        bodies.append(partial(_run, frame, module, own_arguments))
    frames = FRAMES * call_depth(module.entry)
    results = with_stack(frames, partial(lockstep.run, bodies))
    return results[0] if per_device is None else results[:asked]


def _grid(module: Module, devices: int) -> Lockstep:
    """The replicas and partitions that so many devices make.

    Raises
    ------
    HloError
        HLO116 if they make no grid.
    """
    if devices == 1:
        # A lone device may run any module: it is the only replica and the only partition.
        return Lockstep()
    partitions = partitions_of(module)
    replicas, left = divmod(devices, partitions)
    if devices == 0 or left or module.header.replica_count not in (1, replicas):
        message = f"arguments for {devices} devices"
        wanted = f"{module.header.replica_count} replicas of {partitions} partitions"
        raise HloError("HLO116", message, module.span, [f"{module.name} is for {wanted}"])
    return Lockstep(replicas, partitions, meshes_in(module))


def _run(frame: Frame, module: Module, arguments: list[Value]) -> Value:
    with quiet():
        return _finished(frame.call(module.entry, *arguments))


def _finished(value: Value) -> Value:
    """The value with arrays for the scalars that NumPy makes of arrays without dimensions."""
    if isinstance(value, tuple):
        return tuple(_finished(element) for element in cast("tuple[Value, ...]", value))
    return None if value is None else np.asarray(value)
