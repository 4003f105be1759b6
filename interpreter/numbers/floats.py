"""The meaning of opcodes for real floating-point numbers: f32 and f64, to which others are widened.

Names without a function below are NumPy's own, which follow C's math library at NaN, infinities
and signed zeros. XLA leaves the last bits of transcendental functions open. Here those of f32 are
the nearest number, whatever the processor: NumPy's own functions of f32 are up to 3 ULPs off, and
other ones on other processors. Those of f64 depend on NumPy's build.

References
----------
XLA operation semantics, element-wise operations. IEEE 754-2019.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interpreter.numbers.complexes import from_parts
from interpreter.numbers.special import erf

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


def nearest(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of f32 computed in f64 and rounded once; of f64 as it is."""

    def rounded(*operands: Array) -> Array:
        if operands[0].dtype != np.float32:
            return function(*operands)
        return function(*(x.astype(np.float64) for x in operands)).astype(np.float32)

    return rounded


exponential = nearest(np.exp)
_power = nearest(np.power)


def maximum(x: Array, y: Array) -> Array:
    """The larger number; NaN if either is NaN; +0 is larger than -0.

    NumPy returns either zero, so zeros are added instead: +0 + -0 is +0.
    """
    return np.where((x == 0) & (y == 0), x + y, np.maximum(x, y))


def minimum(x: Array, y: Array) -> Array:
    """The smaller number; NaN if either is NaN; -0 is smaller than +0."""
    return np.where((x == 0) & (y == 0), -(-x - y), np.minimum(x, y))


def clamp(low: Array, x: Array, high: Array) -> Array:
    """The nearest number between two bounds; `high` if they cross; NaN if any operand is NaN."""
    return minimum(maximum(low, x), high)


def logistic(x: Array) -> Array:
    """The logistic function, exactly as XLA's LogisticExpander spells it."""
    return 1 / (1 + exponential(-x))


def round_nearest_afz(x: Array) -> Array:
    """The nearest whole number, halves away from zero.

    Not floor(x + 1/2): for x = 0.49999997 that sum rounds to 1. `x - whole` is exact.
    """
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole)


def power(x: Array, y: Array) -> Array:
    """A power; x to the power of 1 is x, which NumPy's vector loops miss by an ULP now and then."""
    return np.where(y == 1, x, _power(x, y))


def rsqrt(x: Array) -> Array:
    """One over the square root; of -0 it is -inf."""
    return 1 / np.sqrt(x)


def sign(x: Array) -> Array:
    """-1, 1, or x itself where it is a zero or NaN."""
    return np.where((x == 0) | np.isnan(x), x, np.copysign(1, x))


# fmt: off
FLOATS: dict[str, Callable[..., Any]] = {
    "abs":                   np.abs,
    "acos":                  nearest(np.arccos),
    "acosh":                 nearest(np.arccosh),
    "add":                   np.add,
    "asin":                  nearest(np.arcsin),
    "asinh":                 nearest(np.arcsinh),
    "atan2":                 nearest(np.arctan2),
    "atanh":                 nearest(np.arctanh),
    "cbrt":                  nearest(np.cbrt),
    "ceil":                  np.ceil,
    "clamp":                 clamp,
    "complex":               from_parts,
    "cosh":                  nearest(np.cosh),
    "cosine":                nearest(np.cos),
    "divide":                np.divide,
    "erf":                   erf,
    "exponential":           exponential,
    "exponential-minus-one": nearest(np.expm1),
    "floor":                 np.floor,
    "imag":                  np.zeros_like,
    "is-finite":             np.isfinite,
    "log":                   nearest(np.log),
    "log-plus-one":          nearest(np.log1p),
    "logistic":              logistic,
    "maximum":               maximum,
    "minimum":               minimum,
    "multiply":              np.multiply,
    "negate":                np.negative,
    "power":                 power,
    "real":                  np.positive,
    "remainder":             np.fmod,
    "round-nearest-afz":     round_nearest_afz,
    "round-nearest-even":    np.rint,
    "rsqrt":                 rsqrt,
    "sign":                  sign,
    "sine":                  nearest(np.sin),
    "sinh":                  nearest(np.sinh),
    "sqrt":                  np.sqrt,
    "subtract":              np.subtract,
    "tan":                   nearest(np.tan),
    "tanh":                  nearest(np.tanh),
}
# fmt: on
