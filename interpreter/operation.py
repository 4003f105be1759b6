"""Computations that are one known operation, such as an addition, which NumPy can fold.

NumPy's `maximum` and `minimum` leave open which of two zeros they return, and XLA's do not: +0 is
larger than -0. So floats are folded as integers that have the same order, NaN outermost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.arithmetic import total_order
from interpreter.numbers.widths import narrowed, widened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.instruction import Computation
    from hlo.types.element_type import ElementType

    Array = NDArray[Any]

# NumPy's add and multiply of bools are or and and, as XLA's of preds are.
UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on encoded numbers that is associative (but for rounding) and commutative."""

    ufunc: np.ufunc

    @property
    def compares(self) -> bool:
        """Whether the result is one of the operands, chosen by their order."""
        return self.ufunc in (np.maximum, np.minimum)

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

    def identity(self, dtype: np.dtype[Any]) -> Array:
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


def known_operation(computation: Computation) -> Operation | None:
    """The operation that a computation of two scalars is, if it is one alone."""
    root, parameters = computation.root, computation.parameters
    if root.opcode not in UFUNCS or len(parameters) != 2 or set(root.operands) != set(parameters):
        return None
    operation = Operation(UFUNCS[root.opcode])
    # Complex numbers have no order; NumPy would make one up.
    return None if operation.compares and root.shape.element_type.is_complex else operation
