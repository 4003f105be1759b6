"""Numbers of floating point as literals of C."""

from __future__ import annotations

import math


def float_text(number: float, suffix: str = "") -> str:
    """A number, with all its digits.

    Parameters
    ----------
    suffix : "f" of an f32.
    """
    if math.isnan(number):
        sign = "-" if math.copysign(1, number) < 0 else ""
        return f'{sign}__builtin_nan{suffix}("")'
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}__builtin_inf{suffix}()"
    if number == int(number) and abs(number) < 1e6:
        return f"{number:.1f}{suffix}"
    digits, exponent = number.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}{suffix}"
