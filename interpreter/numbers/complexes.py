"""The meaning of opcodes for complex numbers, c64 and c128.

Arithmetic and roots are spelled out in real parts, since NumPy's own depend on the machine (it may
fuse a multiplication with an addition) and differ from XLA where infinities meet. The other
functions are C's, which NumPy has; they fix the branch cuts by the signs of zeros.

References
----------
XLA operation semantics, element-wise operations. W. Kahan, "Branch cuts for complex elementary
functions, or: Much ado about nothing's sign bit", 1987. C99, Annex G.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


def from_parts(real: Array, imaginary: Array) -> Array:
    """Complex numbers from their parts; not real + 1j * imaginary, which spoils infinities."""
    result = np.empty(np.shape(real), np.result_type(real, np.complex64))
    result.real, result.imag = real, imaginary
    return result


def parts(x: Any) -> tuple[Array, Array]:
    """The real and the imaginary parts, as views."""
    return x.real, x.imag


def multiply(x: Array, y: Array) -> Array:
    """The product by its definition: an infinity times a zero part gives NaN, as in XLA."""
    (a, b), (c, d) = parts(x), parts(y)
    return from_parts(a * c - b * d, a * d + b * c)


def divide(x: Array, y: Array) -> Array:
    """The quotient by Smith's method, which divides the smaller part of y by the larger one.

    So squares of large parts can't overflow. Where both parts come out as NaN though the quotient
    is known, the number is mended: x / 0 and infinite / finite are infinite, finite / infinite 0.

    References
    ----------
    R. L. Smith, "Algorithm 116: Complex division", 1962. C99, Annex G.5.1.
    """
    (a, b), (c, d) = parts(x), parts(y)
    # Where |c| < |d|, (a + ib) / (c + id) is computed as (b - ia) / (d - ic).
    swap = np.abs(c) < np.abs(d)
    a, b = np.where(swap, b, a), np.where(swap, -a, b)
    c, d = np.where(swap, d, c), np.where(swap, -c, d)
    ratio = d / c
    scale = c + ratio * d
    quotient = from_parts((a + ratio * b) / scale, (b - ratio * a) / scale)
    real, imaginary = parts(quotient)
    unknown = np.isnan(real) & np.isnan(imaginary)
    return np.where(unknown, _limit_of_quotient(x, y, quotient), quotient)


def _limit_of_quotient(x: Array, y: Array, otherwise: Array) -> Array:
    """The limit of x / y where y is zero or one of the two is infinite."""
    (a, b), (c, d) = parts(x), parts(y)
    infinity = np.copysign(np.asarray(np.inf, a.dtype), c)
    by_zero = from_parts(a * infinity, b * infinity)
    # An infinite number counts by its direction: each infinite part as 1, each finite part as 0.
    p, q = _direction(x)
    infinite = from_parts(np.inf * (p * c + q * d), np.inf * (q * c - p * d))
    p, q = _direction(y)
    zero = from_parts(0 * (a * p + b * q), 0 * (b * p - a * q))
    cases = [
        (y == 0) & ~(np.isnan(a) & np.isnan(b)),
        (np.isinf(a) | np.isinf(b)) & np.isfinite(c) & np.isfinite(d),
        (np.isinf(c) | np.isinf(d)) & np.isfinite(a) & np.isfinite(b),
    ]
    return np.select(cases, [by_zero, infinite, zero], otherwise)


def _direction(x: Array) -> tuple[Array, Array]:
    real, imaginary = (np.copysign(np.isinf(p).astype(p.dtype), p) for p in parts(x))
    return real, imaginary


def magnitude(x: Array) -> Array:
    """The distance from 0; infinite if either part is, even beside NaN.

    In f64 no square of an f32 overflows, or loses anything.
    """
    a, b = (part.astype(np.float64) for part in parts(x))
    if x.dtype == np.complex64:
        return _scaled_magnitude(a, b, np.ones_like(a)).astype(np.float32)
    scale = _scale_of_squares(a, b)
    return _scaled_magnitude(a, b, scale) * (1 / scale)


def _scale_of_squares(a: Array, b: Array) -> Array:
    """A power of two with which no square of two numbers overflows, or is too small to count."""
    a, b = np.abs(a), np.abs(b)
    raising = np.where((a < 2.0**-500) & (b < 2.0**-500), 2.0**600, 1.0)
    return np.where((a > 2.0**500) | (b > 2.0**500), 2.0**-600, raising)


def _scaled_magnitude(a: Array, b: Array, scale: Array) -> Array:
    """The magnitude of a complex number, times a scale."""
    size = np.sqrt(a * scale * (a * scale) + b * scale * (b * scale))
    return np.where(np.isinf(a) | np.isinf(b), np.inf, size)


def sqrt(x: Array) -> Array:
    """The principal square root.

    Its larger part is sqrt((|x| + |a|) / 2), and the product of both is b / 2; where a is negative,
    the imaginary part is the larger one. Where b is infinite, both are.

    References
    ----------
    W. Kahan, as above, section 10.
    """
    a, b = (part.astype(np.float64) for part in parts(x))
    scale, height = _scale_of_squares(a, b), np.abs(b)
    size = _scaled_magnitude(a, b, scale) + np.abs(a) * scale
    # The root of 1 / scale.
    unscale = np.select([scale < 1, scale > 1], [2.0**300, 2.0**-300], 1.0)
    larger = np.sqrt(size / 2) * unscale
    smaller = np.where(larger == 0, 0, height / (2 * larger))
    larger, smaller = (np.where(np.isinf(b), np.inf, part) for part in (larger, smaller))
    real, imaginary = np.where(a < 0, smaller, larger), np.where(a < 0, larger, smaller)
    return from_parts(real, np.copysign(imaginary, b)).astype(x.dtype)


def sign(x: Array) -> Array:
    """The number of magnitude 1 in the same direction; x itself where it is 0."""
    (a, b), size = parts(x), magnitude(x)
    return np.where(x == 0, x, from_parts(a / size, b / size))


def rsqrt(x: Array) -> Array:
    """One over the principal square root."""
    return divide(np.ones_like(x), sqrt(x))


def logistic(x: Array) -> Array:
    """The logistic function, 1 / (1 + exp(-x))."""
    one = np.ones_like(x)
    return divide(one, one + np.exp(-x))


def expm1(x: Array) -> Array:
    """exp(x) - 1, exact for small x: exp(a) cos b - 1 is expm1(a) cos b - 2 sin(b / 2)^2."""
    a, b = parts(x)
    half = np.sin(b / 2)
    imaginary = np.where(b == 0, b, np.exp(a) * np.sin(b))
    return from_parts(np.expm1(a) * np.cos(b) - 2 * half * half, imaginary)


def log_plus_one(x: Array) -> Array:
    """The principal logarithm of 1 + x.

    Its real part log |1 + x| is half of log1p(|1 + x|^2 - 1), which stays exact for small x.
    """
    a, b = parts(x)
    near = 0.5 * np.log1p(a * (a + 2) + b * b)
    far = np.log(np.hypot(1 + a, b))
    return from_parts(np.where(np.abs(a) + np.abs(b) < 0.5, near, far), np.arctan2(b, 1 + a))


def power(x: Array, y: Array) -> Array:
    """X to the power y in polar form: |x|^y exp(i y arg x), with y complex in both factors.

    Powers of 1 and 0th powers are 1. Positive powers of 0 are 0; positive powers of infinity are
    infinite, negative ones 0.

    References
    ----------
    W. Kahan, as above, section 10.
    """
    (a, b), (c, d) = parts(x), parts(y)
    size, angle = magnitude(x), np.arctan2(b, a)
    power_of_size = np.power(size, c) * np.exp(-d * angle)
    direction = c * angle + d * np.log(size)
    general = from_parts(power_of_size * np.cos(direction), power_of_size * np.sin(direction))
    limit = (d == 0) & ((x == 0) & (c > 0) | (x == np.inf) & (c != 0))
    cases = [(x == 1) | (y == 0), limit]
    return np.select(cases, [np.ones_like(x), np.power(size, c).astype(x.dtype)], general)


def atan2(y: Array, x: Array) -> Array:
    """The angle of the point (y, x), continued to complex coordinates.

    It is -i log((x + iy) / sqrt(x^2 + y^2)).
    """
    (a, b), (c, d) = parts(x), parts(y)
    ratio = divide(from_parts(a - d, b + c), sqrt(multiply(x, x) + multiply(y, y)))
    real, imaginary = parts(np.log(ratio))
    return from_parts(imaginary, -real)


# fmt: off
COMPLEXES: dict[str, Callable[..., Any]] = {
    "abs":                   magnitude,
    "acos":                  np.arccos,
    "acosh":                 np.arccosh,
    "add":                   np.add,
    "asin":                  np.arcsin,
    "asinh":                 np.arcsinh,
    "atan2":                 atan2,
    "atanh":                 np.arctanh,
    "cosh":                  np.cosh,
    "cosine":                np.cos,
    "divide":                divide,
    "exponential":           np.exp,
    "exponential-minus-one": expm1,
    "imag":                  np.imag,
    "log":                   np.log,
    "log-plus-one":          log_plus_one,
    "logistic":              logistic,
    "multiply":              multiply,
    "negate":                np.negative,
    "power":                 power,
    "real":                  np.real,
    "rsqrt":                 rsqrt,
    "sign":                  sign,
    "sine":                  np.sin,
    "sinh":                  np.sinh,
    "sqrt":                  sqrt,
    "subtract":              np.subtract,
    "tan":                   np.tan,
    "tanh":                  np.tanh,
}
# fmt: on
