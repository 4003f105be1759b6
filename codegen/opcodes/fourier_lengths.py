"""Lengths of Fourier transforms: their factors, their roots of unity, better lengths."""

from __future__ import annotations

from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of the steps of a transform, in the order in which they are tried.
RADICES = (4, 2, 3, 5, 7, 11, 13)


def radices(n: int) -> list[int] | None:
    """Small factors of a number, fours first; None if others are left."""
    factors: list[int] = []
    for radix in RADICES:
        while n % radix == 0:
            factors.append(radix)
            n //= radix
    return factors if n == 1 else None


def good_length(least: int) -> int:
    """The first length from one on that has only the factors 2, 3 and 5."""
    n = least
    while (radices(n) or [n])[-1] > 5:
        n += 1
    return n


def middle_factor(n: int) -> int:
    """The largest divisor up to the square root."""
    return next(d for d in range(isqrt(n), 0, -1) if n % d == 0)


@lru_cache(maxsize=16)
def roots_of_unity(n: int) -> NDArray[Any]:
    """All n of them, clockwise."""
    return np.exp(-2j * np.pi * np.arange(n) / n)


@lru_cache(maxsize=16)
def chirp(n: int) -> NDArray[Any]:
    """Half-turns by square numbers: exp(-i pi k^2 / n) for each k below n."""
    return np.exp(-1j * np.pi * (np.arange(n) ** 2 % (2 * n)) / n)


@lru_cache(maxsize=16)
def chirp_transform(n: int, longer: int) -> NDArray[Any]:
    """The conjugate transform of the conjugate chirp, around which a longer line is closed.

    Its products with transforms are those of a convolution; it is divided by the length, as the way
    back has to be.
    """
    line = np.zeros(longer, np.complex128)
    line[:n] = chirp(n).conj()
    line[longer - n + 1 :] = line[1:n][::-1]
    return np.fft.fft(line).conj() / longer
