"""Guards about numbers: the range of a type or value, and whether a conversion keeps it.

They serve rules about conversions, extremes and absolute values; see `optimizer.rewriting.guards`.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hlo.attributes import Iota
from hlo.opcode import VIEWS
from hlo.types.element_type import F8E8M0FNU
from hlo.types.limits import has_special, highest_of, integer_range, lowest_of
from interpreter.numbers.widths import WITHOUT_NAN
from optimizer.rewriting.guard import guard
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

_finfo = cast("Any", ml_dtypes.finfo)

# Opcodes that put elements elsewhere, and add none but copies.
MOVES = VIEWS - {"bitcast"}


@cache
def keeps_all(source: ElementType, target: ElementType) -> bool:
    """Whether every number of a type is a number of another, signs of zeros and NaN included."""
    if source is target:
        return True
    if source.kind == "pred":
        # These are powers of two, so there is no 0 among them.
        return target is not F8E8M0FNU
    if source.is_complex or target.is_complex:
        return target.is_complex and keeps_all(source.real, target.real)
    if target.kind == "pred" or (source.is_floating and target.is_integer):
        return False
    if source.is_integer:
        return _keeps_integers(source, target)
    narrow, wide = _finfo(source.dtype), _finfo(target.dtype)
    return (
        narrow.nmant <= wide.nmant
        and float(narrow.max) <= float(wide.max)
        and float(narrow.smallest_subnormal) >= float(wide.smallest_subnormal)
        and float(narrow.min) >= float(wide.min)
        and target not in WITHOUT_NAN
        and all(
            has_special(target, special)
            for special in (np.inf, -0.0)
            if has_special(source, special)
        )
    )


def _keeps_integers(source: ElementType, target: ElementType) -> bool:
    low, high = integer_range(source)
    if target.is_integer:
        lowest, highest = integer_range(target)
        return lowest <= low and high <= highest
    info = _finfo(target.dtype)
    # A power of two needs no mantissa, so -2^(n-1) fits if it is in range.
    digits_fit = (high.bit_length()) <= info.nmant + 1
    return digits_fit and float(info.min) <= low and high <= float(info.max)


@guard
def conversion_is_exact(x: Instruction, y: Instruction) -> bool:
    """Every number of x's type is one of y's too."""
    return keeps_all(x.shape.element_type, y.shape.element_type)


def is_everywhere(c: Instruction, number: float) -> bool:
    """Whether a constant is one number everywhere."""
    value = value_of(c)
    return value is not None and bool(value.size) and bool((value == number).all())


@guard
def is_lowest(c: Instruction) -> bool:
    """A constant below which the type has no number."""
    element_type = c.shape.element_type
    return not element_type.is_complex and is_everywhere(c, lowest_of(element_type))


@guard
def is_highest(c: Instruction) -> bool:
    """A constant above which the type has no number."""
    element_type = c.shape.element_type
    return not element_type.is_complex and is_everywhere(c, highest_of(element_type))


@guard
def is_all_ones(c: Instruction) -> bool:
    """A constant all of whose bits are set: -1, the largest unsigned number, true."""
    element_type = c.shape.element_type
    if element_type.kind == "signed":
        return is_everywhere(c, -1)
    return element_type.kind in ("unsigned", "pred") and is_everywhere(c, highest_of(element_type))


@guard
def has_negatives(x: Instruction) -> bool:
    """Numbers whose opposites exist, if need be by wrapping around: not f8e8m0fnu."""
    return x.shape.element_type is not F8E8M0FNU


@guard
def has_nan(x: Instruction) -> bool:
    """Floats among which is NaN: where there is none, it becomes -0."""
    return x.shape.element_type not in WITHOUT_NAN


@guard
def has_whole_ends(x: Instruction) -> bool:
    """Numbers that stay in range when they are rounded to whole ones; not f6e2m3fn."""
    element_type = x.shape.element_type
    largest = highest_of(element_type) if element_type.is_floating else 0
    return largest == np.inf or float(largest).is_integer()


@guard
def is_below_width(c: Instruction) -> bool:
    """A distance by which bits can be shifted without losing them all."""
    value, bits = value_of(c), c.shape.element_type.bits
    return value is not None and all(0 <= n < bits for n in map(int, value.flat))


@guard
def is_beyond_width(c: Instruction) -> bool:
    """A distance by which all bits are shifted out; a negative one is read as unsigned."""
    value, bits = value_of(c), c.shape.element_type.bits
    return value is not None and all(n < 0 or n >= bits for n in map(int, value.flat))


@guard
def is_even(c: Instruction) -> bool:
    """Even integers."""
    value = value_of(c)
    if value is None or not c.shape.element_type.is_integer:
        return False
    return all(n % 2 == 0 for n in map(int, value.flat))


@guard
def is_nonzero_number(c: Instruction) -> bool:
    """A constant without zeros, whose bits equality says all about; NaN counts too.

    Neither part of a complex number may be 0: 1 + 0i is equal to 1 - 0i.
    """
    value = value_of(c)
    if value is None or not c.shape.element_type.is_complex:
        return value is not None and bool((value != 0).all())
    parts = np.ascontiguousarray(value).view(c.shape.element_type.real.dtype)
    return bool((parts != 0).all())


@guard
def is_power_of_two_float(c: Instruction) -> bool:
    """Floats 2^k or -2^k: multiplying by them does not round."""
    value = value_of(c)
    if value is None or not c.shape.element_type.is_floating:
        return False
    return bool((np.abs(np.frexp(value.astype(np.float64))[0]) == 0.5).all())


@partial(guard, far=True)
def is_non_negative(x: Instruction) -> bool:
    """Known not to be negative, nor -0; NaN counts as positive."""
    while x.opcode in MOVES:
        x = x.operands[0]
    element_type = x.shape.element_type
    if element_type.kind in ("unsigned", "pred"):
        return True
    if x.opcode == "constant":
        value = value_of(x) if not element_type.is_complex else None
        return value is not None and not bool(np.signbit(value.astype(np.float64)).any())
    if x.opcode == "iota":
        return counts_exactly(x)
    if x.opcode == "convert":
        source = x.operands[0].shape.element_type
        return source.kind in ("unsigned", "pred") and keeps_all(source, element_type)
    if not element_type.is_floating:
        return False
    # XLA's `IsNonNegative` asks the operands of maximum and select, too, and knows nothing of
    # unsigned numbers, iota, exponential and logistic.
    return x.opcode in ("abs", "exponential", "logistic") or (
        x.opcode == "multiply" and x.operands[0] is x.operands[1]
    )


def counts_exactly(iota: Instruction) -> bool:
    """Whether the numbers of an iota are 0, 1, 2, ..., so neither wrapped around nor rounded."""
    element_type = iota.shape.element_type
    if element_type.is_integer:
        return last_of(iota) <= highest_of(element_type)
    return element_type.is_floating and last_of(iota) <= 2 ** (_finfo(element_type.dtype).nmant + 1)


def last_of(iota: Instruction) -> int:
    """The largest number that an iota counts to."""
    return max(iota.shape.dims[Iota.of(iota).iota_dimension] - 1, 0)


@guard
def ascend(c1: Instruction, c2: Instruction) -> bool:
    """The first constant is everywhere less than the second, and neither is NaN."""
    low, high = value_of(c1), value_of(c2)
    # Small floats warn of NaN.
    with np.errstate(invalid="ignore"):
        return low is not None and high is not None and bool((low < high).all())


@guard
def is_usual(q: str) -> bool:
    """A comparison that is not in total order: NaN has no place, and the zeros are equal."""
    return q != "TOTALORDER"
