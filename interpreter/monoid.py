"""Monoids: operations such as addition, which fold values in any grouping, with their identities.

NumPy's `maximum` and `minimum` leave open which of two zeros they return, and XLA's do not: +0 is
larger than -0. So floats are folded as integers that have the same order, NaN outermost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.arithmetic import total_order
from interpreter.conversion import integer_range
from interpreter.numbers.widths import narrowed, widened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.instruction import Computation
    from hlo.types.element_type import ElementType

    Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Monoid:
    """An operation on encoded numbers: associative but for rounding, commutative, with an identity.

    Attributes
    ----------
    ufunc : of NumPy; its add and multiply of bools are or and and, as XLA's of preds are.
    of_preds : the opcode that is the same operation on truth values.
    idempotent : whether a value that takes part may do so any number of times.
    """

    ufunc: np.ufunc
    of_preds: str
    idempotent: bool = False

    @property
    def compares(self) -> bool:
        """Whether the result is one of the operands, chosen by their order."""
        return self.ufunc in (np.maximum, np.minimum)

    def rounds(self, element_type: ElementType) -> bool:
        """Whether a result of a small type is rounded, which the encoded one is not."""
        return element_type.is_floating and element_type.bits < 32 and not self.compares

    def encode(self, numbers: Array) -> Array:
        """Numbers in the form in which they are folded; small types are widened."""
        wide = widened(numbers)
        if not self.compares or wide.dtype.kind != "f":
            return wide
        keys = total_order(wide)
        limits = np.iinfo(keys.dtype)
        nan = limits.max if self.ufunc is np.maximum else limits.min
        return np.where(np.isnan(wide), nan, keys).astype(keys.dtype, copy=False)

    def decode(self, folded: Any, element_type: ElementType) -> Array:
        """The numbers that a folded form stands for."""
        form = np.asarray(folded)
        if self.compares and element_type.is_floating:
            floats = form.view(np.float32 if form.dtype == np.int32 else np.float64)
            # Total order flips bits, so doing it again undoes it; the outermost keys become NaN.
            form = total_order(floats).view(floats.dtype)
        return narrowed(form, element_type)

    def encoded_identity(self, dtype: np.dtype[Any]) -> Array:
        """The encoded number that leaves all others alone."""
        zero = np.zeros((), dtype)
        if self.compares and dtype.kind == "b":
            return np.asarray(self.ufunc is np.minimum)
        if self.compares:
            limits = np.iinfo(dtype)
            return np.asarray(limits.min if self.ufunc is np.maximum else limits.max, dtype)
        if self.ufunc is np.multiply:
            return np.ones((), dtype)
        if self.ufunc is np.bitwise_and:
            return ~zero
        # -0 + x is x, also where x is -0.
        return -zero if dtype.kind in "fc" else zero

    def identity(self, element_type: ElementType) -> float | None:
        """The number that leaves all others alone; None if the type has none."""
        known: dict[np.ufunc, float]
        if element_type.is_complex:
            known = {np.add: 0, np.multiply: 1}
        elif element_type.is_floating:
            # -0 + x is x, also where x is -0.
            known = {np.add: -0.0, np.multiply: 1.0, np.maximum: -np.inf, np.minimum: np.inf}
        else:
            low, high = (0, 1) if element_type.kind == "pred" else integer_range(element_type)
            ones = -1 if element_type.kind == "signed" else high
            known = {np.add: 0, np.multiply: 1, np.maximum: low, np.minimum: high}
            known |= {np.bitwise_and: ones, np.bitwise_or: 0, np.bitwise_xor: 0}
        number = known.get(self.ufunc)
        # Not every small float has infinities, or a zero.
        there = number is not None and np.asarray(number, element_type.dtype) == number
        return number if there else None


# By the opcode.
MONOIDS = {
    "add": Monoid(np.add, "or"),
    "multiply": Monoid(np.multiply, "and"),
    "maximum": Monoid(np.maximum, "or", idempotent=True),
    "minimum": Monoid(np.minimum, "and", idempotent=True),
    "and": Monoid(np.bitwise_and, "and", idempotent=True),
    "or": Monoid(np.bitwise_or, "or", idempotent=True),
    "xor": Monoid(np.bitwise_xor, "xor"),
}


def monoid_of(computation: Computation) -> Monoid | None:
    """The monoid that a computation of two scalars applies, if it does nothing else."""
    root, parameters = computation.root, computation.parameters
    if root.opcode not in MONOIDS or len(parameters) != 2 or set(root.operands) != set(parameters):
        return None
    monoid = MONOIDS[root.opcode]
    # Complex numbers have no order; NumPy would make one up.
    return None if monoid.compares and root.shape.element_type.is_complex else monoid
