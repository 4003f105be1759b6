"""Functions that NumPy lacks.

Horner's scheme evaluates the polynomials; coefficients are those of the papers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

# Cody's coefficients, the highest power first: numerator and denominator in x^2 for small x, and
# in x for large x.
# fmt: off
ERF_SMALL = (
    (1.85777706184603153e-1, 3.16112374387056560e00, 1.13864154151050156e02,
     3.77485237685302021e02, 3.20937758913846947e03),
    (1.0, 2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03,
     2.84423683343917062e03),
)
ERFC_LARGE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e00,
     6.61191906371416295e01, 2.98635138197400131e02, 8.81952221241769090e02,
     1.71204761263407058e03, 2.05107837782607147e03, 1.23033935479799725e03),
    (1.0, 1.57449261107098347e01, 1.17693950891312499e02, 5.37181101862009858e02,
     1.62138957456669019e03, 3.29079923573345963e03, 4.36261909014324716e03,
     3.43936767414372164e03, 1.23033935480374942e03),
)
# fmt: on


def polynomial(coefficients: Sequence[float], x: Array) -> Array:
    """A polynomial by Horner's scheme, the coefficient of the highest power first."""
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def rational(parts: tuple[Sequence[float], Sequence[float]], x: Array) -> Array:
    """The quotient of two polynomials."""
    return polynomial(parts[0], x) / polynomial(parts[1], x)


def erf(x: Array) -> Array:
    """The error function, within 4 units in the last place of an f64.

    For small x it is x times a rational function of x^2. For larger x it is 1 - erfc(x), where
    exp(x^2) erfc(x) is a rational function of x. Computed in f64 for f32 too, so the f32 result
    is almost always the nearest one.

    References
    ----------
    W. J. Cody, "Rational Chebyshev approximations for the error function", 1969.
    """
    # erf(6) is 1 in f64 already; the bound keeps infinities out of the polynomials.
    size = np.minimum(np.abs(x).astype(np.float64), 6)
    square = size * size
    small = size * rational(ERF_SMALL, square)
    large = 1 - np.exp(-square) * rational(ERFC_LARGE, size)
    return np.copysign(np.where(size < 0.46875, small, large), x).astype(x.dtype)
