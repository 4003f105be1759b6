"""Evaluates modules that nobody has read: with an end to every loop, and with values shaken.

A pass that promises less than every bit may change a value a little, and what comes after makes of
that little anything: a difference of 0 and 1e-8 becomes 0 and 1 by a comparison. How much follows
from the promise is measured, not guessed: the module is run again with every float that it computes
changed as the promise allows (*shaken*), and what comes out then may come out of the pass, too.

References
----------
D. Stott Parker, "Monte Carlo Arithmetic", UCLA CSD-970002, for finding errors by random rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hlo.opcode import SEQUENTIAL
from hlo.walk import called_first
from interpreter.engine.arguments import checked_arguments
from interpreter.engine.device import Device
from interpreter.engine.evaluate import evaluate
from interpreter.engine.frame import Frame, quiet
from interpreter.groups import devices_named
from interpreter.numbers.widths import float_format, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from hlo.instruction import Computation, Instruction, Module
    from interpreter.engine.frame import Evaluation
    from interpreter.numbers.compare import Promise

Value = Any  # an array, None for a token, or a tuple of values

# So many instructions may run; a module of a few dozen needs a few thousand, loops included.
MOST_EVENTS = 20_000
# A pass may make loops of one instruction.
MOST_EVENTS_AFTER = 500_000
# Devices that a module may need.
MOST_DEVICES = 4
# The largest distance of a shaken float from the computed one.
SHAKEN_ULPS = 4
# Types of so few bits lose small numbers all the time.
SMALL_BITS = 8
# An infinity or NaN may become any of these.
JUNK = (np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 3.0)


_finfo: Any = ml_dtypes.finfo


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
    devices: int | None = None,
) -> Value:
    """The values of a module on as many devices as it names, with each other's arguments turned.

    Parameters
    ----------
    most : how many instructions may run.
    devices : on so many; None for as many as the module is for.

    Raises
    ------
    EndlessError
        if it takes too long.
    TypeError
        if it gives what can't be compared, such as a handle.
    """
    devices = devices or devices_of(module)
    per_device = [[turned(a, device) for a in arguments] for device in range(devices)]
    values = evaluate(module, per_device=per_device, observe=Limit(most))
    for leaf in leaves(tuple(values)):
        type_of(leaf)
    return values[0] if devices == 1 else tuple(values)


def devices_of(module: Module) -> int:
    """The number of devices of a module: where it does not say, as many as its collectives name."""
    said = module.header.replica_count * module.header.num_partitions
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


def run_shaken(
    module: Module, arguments: Sequence[Value], promise: Promise, random: Random
) -> Value:
    """The value of a module if every computed float is as wrong as a promise allows."""
    frame = ShakenFrame(module, promise, random)
    with quiet():
        return frame.call(module.entry, *checked_arguments(module.entry, list(arguments)))


def rounds(promise: Promise) -> bool:
    """Whether a promise forgives rounding errors."""
    return bool(promise.ulps or promise.rtol or promise.atol)


class ShakenFrame(Frame):
    """Evaluates computations, and changes a little whatever floats they compute."""

    def __init__(self, module: Module, promise: Promise, random: Random) -> None:
        super().__init__(Device(), Limit(MOST_EVENTS_AFTER))
        self.shake = Shaker(promise, np.random.default_rng(random.getrandbits(32)))
        self.shaken = {i for c in running(module) for i in c.instructions if computes(i)}

    def _function(self, instr: Instruction) -> Callable[..., Value]:
        function = super()._function(instr)
        if instr not in self.shaken:
            return function
        # Terms of a sum may cancel, so it is not the sum that rounding changes a little.
        several = not instr.row.elementwise

        def shaken(of: Instruction, attrs: Any, *operands: Value) -> Value:
            given = map(self.shake, operands) if several else operands
            return self.shake(function(of, attrs, *given))

        return shaken


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


def computes(instr: Instruction) -> bool:
    """Whether an instruction makes new numbers, rather than move those that there are."""
    traits = instr.row.traits
    moving = {"leaf", "movement", "control", "async", "effect", "identity", "tuples"}
    return not traits & moving and instr.opcode not in RUNNING | {"bitcast-convert", "sort"}


@dataclass
class Shaker:
    """Changes floats as much as a promise allows."""

    promise: Promise
    random: np.random.Generator

    def __call__(self, value: Value) -> Value:
        """The value, shaken; only floats change."""
        if isinstance(value, tuple):
            return tuple(self(element) for element in cast("tuple[Value, ...]", value))
        if value is None:
            return None
        array: Any = np.asarray(value)
        element_type = type_of(array)
        if element_type.is_complex:
            whole = np.empty(array.shape, array.dtype)
            whole.real, whole.imag = self.floats(array.real), self.floats(array.imag)
            return whole
        return self.floats(array) if element_type.is_floating else value

    def floats(self, array: Any) -> Any:
        """An array of floats, shaken."""
        wide = shaken = array.astype(np.float64)
        if self.promise.zero_sign:
            signs: Any = self.random.choice((1.0, -1.0), wide.shape)
            shaken = cast("Any", np.where(wide == 0, wide * signs, shaken))
        if self.promise.finite:
            junk: Any = self.random.choice(JUNK, wide.shape)
            shaken = cast("Any", np.where(np.isfinite(wide), shaken, junk))
        if rounds(self.promise):
            most = min(SHAKEN_ULPS, max(1, 2 ** float_format(array.dtype).mantissa_bits // 4))
            ulps = cast("Any", self.random.integers(-most, most, wide.shape, endpoint=True))
            eps = 2.0 ** -float_format(array.dtype).mantissa_bits
            # In 64 bits the product rounds to the neighbour that is wanted, too.
            shaken = shaken * (1 + ulps * eps)
            if float_format(array.dtype).bits <= SMALL_BITS:
                # Many values are too small for these types, and become zeros.
                least = float(_finfo(array.dtype).smallest_subnormal)
                steps = cast("Any", self.random.integers(-1, 1, wide.shape, endpoint=True))
                shaken = shaken + least * steps
        return np.asarray(shaken).astype(array.dtype)
