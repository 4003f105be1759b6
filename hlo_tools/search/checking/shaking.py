"""Evaluates modules with every float perturbed as far as a promise allows.

A pass that promises less than every bit may change a value a little, and what comes after makes of
that little anything: a difference of 0 and 1e-8 becomes 0 and 1 by a comparison. How much follows
from the promise is measured, not guessed: the module is run again with every float that it computes
changed as the promise allows (*shaken*), and what comes out then may come out of the pass, too.

References
----------
D. Stott Parker, "Monte Carlo Arithmetic", UCLA CSD-970002, for finding errors by random rounding.
N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2, for those of sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hlo.attributes import CustomCall
from hlo.walk import called_first
from hlo_tools.values.bounded import MOST_EVENTS_AFTER, RUNNING, Limit, rounds, running
from interpreter.engine.arguments import checked_arguments
from interpreter.engine.device import Device
from interpreter.engine.frame import Frame, quiet
from interpreter.numbers.widths import float_format, type_of, widened
from optimizer.analysis.cost import operations

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from hlo.instruction import Instruction, Module
    from interpreter.numbers.compare import Promise

Value = Any  # an array, None for a token, or a tuple of values

# The largest distance of a shaken float from the computed one.
SHAKEN_ULPS = 4
# Where all roundings of a sum have one direction, as those of equal terms, it is off by about n / 4
# ULPs. Twice as many may be allowed for that, since judging multiplies: n terms, or 2 n flops of a
# product, move it by up to n / 8.
ULPS_PER_FLOP = 1 / 16
# Types of so few bits lose small numbers all the time.
SMALL_BITS = 8
# An infinity or NaN may become any of these.
NUMBERS = (0.0, 1.0, -1.0, 3.0)
JUNK = (np.nan, np.inf, -np.inf, *NUMBERS)


# A rounding error of their terms shows in elementwise sums, too, where the terms cancel.
SUMS = ("add", "subtract")


_finfo: Any = ml_dtypes.finfo


def run_shaken(
    module: Module, arguments: Sequence[Value], promise: Promise, random: Random
) -> Value:
    """The value of a module if every computed float is as wrong as a promise allows."""
    frame = ShakenFrame(module, promise, random)
    with quiet():
        return frame.call(module.entry, *checked_arguments(module.entry, list(arguments)))


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
        several = not instr.row.elementwise or instr.opcode in SUMS
        has_phases = is_eigh(instr)
        eps, drift = narrowest_eps(instr), several * ULPS_PER_FLOP * flops_per_element(instr)

        def shaken(of: Instruction, attrs: Any, *operands: Value) -> Value:
            # Terms of a sum may cancel, so it is not the sum that rounding changes a little.
            inputs = [self.shake(operand, eps) for operand in operands] if several else operands
            value = function(of, attrs, *inputs)
            return self.shake(self.shake.turned(value) if has_phases else value, eps, drift)

        return shaken


def computes(instr: Instruction) -> bool:
    """Whether an instruction makes new numbers, rather than move those that there are."""
    traits = instr.row.traits
    moving = {"leaf", "movement", "control", "async", "effect", "identity", "tuples"}
    return not traits & moving and instr.opcode not in RUNNING | {"bitcast-convert", "sort"}


def narrowest_eps(instr: Instruction) -> float:
    """The coarsest rounding inside the computations that an instruction applies; 0 if none."""
    inner = (i.shape for c in called_first(*instr.called) for i in c.instructions)
    types = {s.element_type for s in inner if s.is_array}
    return max((_eps(t.real.dtype) for t in types if t.is_floating or t.is_complex), default=0.0)


def flops_per_element(instr: Instruction) -> float:
    """The number of operations on which each element of a result depends."""
    size = max((s.size for _, s in instr.shape.leaves()), default=0)
    return operations(instr)[0] / max(size, 1)


def is_eigh(instr: Instruction) -> bool:
    """Whether an instruction yields eigenvectors, and whatever their signs or phases are."""
    return instr.opcode == "custom-call" and CustomCall.of(instr).custom_call_target == "Eigh"


def _eps(dtype: np.dtype[Any]) -> float:
    return 2.0 ** -float_format(dtype).mantissa_bits


@dataclass
class Shaker:
    """Changes floats as much as a promise allows."""

    promise: Promise
    random: np.random.Generator

    def __call__(self, value: Value, eps: float = 0.0, drift: float = 0.0) -> Value:
        """The value, shaken; only floats change.

        Parameters
        ----------
        eps : of the type whose rounding moves them, if it is coarser than that of their own.
        drift : all of them move in one direction, too, by up to so many ULPs.
        """
        if isinstance(value, tuple):
            values = cast("tuple[Value, ...]", value)
            return tuple(self(element, eps, drift) for element in values)
        if value is None:
            return None
        array: Any = np.asarray(value)
        element_type = type_of(array)
        drift *= self.random.uniform(-1, 1)
        if element_type.is_complex:
            # Where one part is small, it is so by cancellation of parts as large as the other.
            whole, size = np.empty(array.shape, array.dtype), np.abs(array).astype(np.float64)
            whole.real = self.floats(array.real, size, eps, drift)
            whole.imag = self.floats(array.imag, size, eps, drift)
            return whole
        if not element_type.is_floating:
            return value
        return self.floats(array, np.abs(array.astype(np.float64)), eps, drift)

    def floats(self, array: Any, size: Any, eps: float, drift: float) -> Any:
        """An array of floats, shaken in proportion to some sizes."""
        wide = shaken = array.astype(np.float64)
        if self.promise.zero_sign:
            signs: Any = self.random.choice((1.0, -1.0), wide.shape)
            shaken = cast("Any", np.where(wide == 0, wide * signs, shaken))
        if self.promise.finite:
            # A single NaN may hide all the rest: now and then there is none.
            among = JUNK if self.random.random() < 0.5 else NUMBERS
            junk: Any = self.random.choice(among, wide.shape)
            shaken = cast("Any", np.where(np.isfinite(wide), shaken, junk))
        if rounds(self.promise):
            most = min(SHAKEN_ULPS, max(1, 2 ** float_format(array.dtype).mantissa_bits // 4))
            ulps = cast("Any", self.random.integers(-most, most, wide.shape, endpoint=True))
            least = float(_finfo(array.dtype).smallest_subnormal)
            size = cast("Any", np.where(np.isfinite(size), size, np.abs(shaken)))
            steps = ulps * np.maximum(size * max(eps, _eps(array.dtype)), least)
            # Sums are computed in the wide type, and rounded to a narrower one once.
            steps += drift * size * max(eps, _eps(widened(array).dtype))
            shaken = cast(
                "Any", np.where(np.isfinite(shaken) & (shaken != 0), shaken + steps, shaken)
            )
            if float_format(array.dtype).bits <= SMALL_BITS:
                # Many values are too small for these types, and become zeros.
                steps = cast("Any", self.random.integers(-1, 1, wide.shape, endpoint=True))
                shaken = shaken + least * steps
        return np.asarray(shaken).astype(array.dtype)

    def turned(self, value: tuple[Any, Any]) -> Value:
        """Eigenvectors, each turned to another sign or phase, and the eigenvalues as they are."""
        vectors, values = value
        signs: Any = self.random.choice((1.0, -1.0), values.shape)
        if np.iscomplexobj(vectors):
            signs = np.exp(1j * cast("Any", self.random.uniform(-pi, pi, values.shape)))
        return (vectors * signs[..., None, :]).astype(vectors.dtype), values
