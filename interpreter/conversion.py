"""Opcodes that put a number into another type: convert, and its relatives that round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.types.limits import integer_range
from hlo.types.rounding import ROUNDED_ONCE, to_odd
from interpreter.numbers.complexes import parts
from interpreter.numbers.widths import as_unsigned, float_format, narrowed, type_of, widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.attributes import Attrs, ReducePrecision
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

    Array = NDArray[Any]


@evaluates("convert", xla="ConvertElementType; saturation and rounding twice are as on XLA CPU")
def evaluate_convert(instr: Instruction, _attrs: Attrs, x: Array) -> Array:
    """Put numbers into another element type.

    To pred: whether x is not 0 (NaN is not). Integers to integers wrap around. Floats to integers
    are truncated, saturate, and NaN becomes 0. To floats: rounded to nearest even; f64 to bf16
    and f8e8m0fnu by way of f32, so twice. Complex to real: the imaginary part is dropped.
    """
    return converted(x, instr.shape.element_type)


def converted(x: Array, target: ElementType) -> Array:
    """Numbers in another element type."""
    wide = widened(x)
    if target.kind == "pred":
        return np.asarray(wide != 0)
    if type_of(x).is_complex and not target.is_complex:
        wide, _ = parts(wide)
    if target.is_integer and np.issubdtype(wide.dtype, np.floating):
        return saturated(wide, target)
    if wide.dtype == np.float64 and target in ROUNDED_ONCE:
        wide = to_odd(wide)
    return narrowed(wide, target)


def saturated(x: Array, target: ElementType) -> Array:
    """Floats truncated to integers, those beyond the range to its ends, NaN to 0.

    The largest s32 is no f32: it rounds to 2^31, which is beyond the range, so everything below
    that fits. `-(2^31)` and the like are exact.
    """
    low, high = integer_range(target)
    # Comparisons against the ends happen in x's type, as XLA's do.
    lowest, highest = (np.asarray(end, x.dtype) for end in (low, high))
    wide = np.int64 if target.kind == "signed" else np.uint64
    whole = np.where((x > lowest) & (x < highest), x, 0).astype(wide)
    whole = np.where(x >= highest, np.asarray(high, wide), whole)
    return narrowed(np.where(x <= lowest, np.asarray(low, wide), whole), target)


@evaluates("reduce-precision", xla="ReducePrecision")
def evaluate_reduce_precision(instr: Instruction, attrs: ReducePrecision, x: Array) -> Array:
    """Round floats to a format with fewer exponent or mantissa bits, and keep their type."""
    element_type = instr.shape.element_type
    # Types of 8 bits and less are rounded as the f16 or f32 that they fit into.
    if element_type.bits < 16:
        x = x.astype(np.float16 if float_format(x.dtype).exponent_bits <= 5 else np.float32)
    rounded = reduced_precision(x, attrs.exponent_bits, attrs.mantissa_bits)
    return narrowed(rounded, element_type)


def reduced_precision(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Floats rounded to a format of fewer bits.

    Mantissas are rounded to nearest even. What is too large for the exponent becomes infinite,
    what is too small for a normal number becomes 0: the smaller format has no subnormals. If it
    has as many exponent bits, subnormals of x stay, rounded. NaN stays as it is.
    """
    form = float_format(x.dtype)
    word = np.dtype(f"u{x.dtype.itemsize}")
    infinity = np.asarray(((1 << form.exponent_bits) - 1) << form.mantissa_bits, word)
    bits = x.view(word)
    size = bits & np.asarray((1 << form.bits - 1) - 1, word)
    sign, is_nan = bits ^ size, size > infinity
    dropped = form.mantissa_bits - mantissa_bits
    if dropped > 0:
        # Adding just under half of the last kept place, and 1 more if that place is odd, carries
        # into it exactly if the number must be rounded up; a carry into the exponent is right too.
        odd = (size >> dropped) & 1
        size = (size + odd + ((1 << dropped - 1) - 1)) >> dropped << dropped
    if exponent_bits < form.exponent_bits:
        bias, own_bias = ((1 << n - 1) - 1 for n in (exponent_bits, form.exponent_bits))
        exponent = size >> form.mantissa_bits
        size = np.where(exponent > own_bias + bias, infinity, size)
        size = np.where(exponent <= own_bias - bias, np.zeros_like(size), size)
    return np.where(is_nan, bits, sign | size).view(x.dtype)


@evaluates("stochastic-convert", xla="XLA's StochasticConvertDecomposer")
def evaluate_stochastic_convert(
    instr: Instruction, _attrs: Attrs, x: Array, random: Array
) -> Array:
    """Convert floats to integers, rounded up or down by random bits.

    The fraction of |x| is the probability of rounding away from 0: the number whose binary
    fraction is `random` is less than it. Beyond the range it saturates; NaN becomes 0.

    Parameters
    ----------
    x : floats
    random : unsigned integers, as wide as x's elements.

    Raises
    ------
    HloError
        HLO101 if the result is not of integers: XLA has no meaning for another type either.
    """
    target = instr.shape.element_type
    if not target.is_integer:
        message = f"stochastic-convert is not defined for {target}"
        raise HloError("HLO101", message, instr.span)
    wide = widened(x).astype(np.float64)
    size = np.abs(wide)
    whole = np.trunc(size)
    # Below 2^-53 of a random number's range the fraction is scaled exactly: it is a float.
    threshold = np.ldexp(size - whole, type_of(random).bits)
    away = as_unsigned(random) < np.nan_to_num(threshold).astype(np.uint64)
    return saturated(np.copysign(whole + away, wide), target)
