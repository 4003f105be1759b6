"""Numbers in the form in which NumPy folds them by a monoid.

NumPy's `maximum` and `minimum` leave open which of two zeros they return, and XLA's do not: +0 is
larger than -0. So floats are folded as integers that have the same order, NaN outermost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.element_type import element_type_of
from interpreter.arithmetic import total_order
from interpreter.numbers.widths import narrowed, widened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.monoid import Monoid
    from hlo.types.element_type import ElementType

    Array = NDArray[Any]

# Add and multiply of bools are or and and, as XLA's of preds are.
UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def encode(monoid: Monoid, numbers: Array) -> Array:
    """Numbers in the form in which they are folded; small types are widened."""
    wide = widened(numbers)
    if not monoid.compares or wide.dtype.kind != "f":
        return wide
    keys = total_order(wide)
    limits = np.iinfo(keys.dtype)
    nan = limits.max if monoid.opcode == "maximum" else limits.min
    return np.where(np.isnan(wide), nan, keys).astype(keys.dtype, copy=False)


def decode(monoid: Monoid, folded: Any, element_type: ElementType) -> Array:
    """The numbers that a folded form stands for."""
    form = np.asarray(folded)
    if monoid.compares and element_type.is_floating:
        floats = form.view(np.float32 if form.dtype == np.int32 else np.float64)
        # Total order flips bits, so doing it again undoes it; the outermost keys become NaN.
        form = total_order(floats).view(floats.dtype)
    return narrowed(form, element_type)


def encoded_identity(monoid: Monoid, dtype: np.dtype[Any]) -> Array:
    """The encoded number that leaves all others of a form alone."""
    element_type = element_type_of(dtype)
    assert element_type is not None
    return np.asarray(monoid.identity(element_type), dtype)
