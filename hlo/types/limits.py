"""The smallest and the largest number of each element type."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from hlo.types.element_type import ElementType

_finfo = cast("Any", ml_dtypes.finfo)


def integer_range(element_type: ElementType) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    if element_type.kind == "unsigned":
        return 0, 2**element_type.bits - 1
    return -(2 ** (element_type.bits - 1)), 2 ** (element_type.bits - 1) - 1


def lowest_of(element_type: ElementType) -> float | int:
    """The smallest number of a type: -inf where there is one."""
    return _extreme(element_type, -1)


def highest_of(element_type: ElementType) -> float | int:
    """The largest number of a type: inf where there is one."""
    return _extreme(element_type, 1)


@cache
def _extreme(element_type: ElementType, sign: int) -> float | int:
    if element_type.kind == "pred":
        return int(sign > 0)
    if element_type.is_integer:
        return integer_range(element_type)[sign > 0]
    if has_special(element_type, sign * np.inf):
        return sign * np.inf
    info = _finfo(element_type.dtype)
    return float(info.max if sign > 0 else info.min)


def has_special(element_type: ElementType, special: float) -> bool:
    """Whether a type of floats has infinities, or a negative zero."""
    with np.errstate(all="ignore"):
        rounded = np.asarray(special, np.float32).astype(element_type.dtype).astype(np.float64)
    return bool(rounded == special and np.signbit(rounded) == np.signbit(special))
