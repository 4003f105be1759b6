"""Functions of the dialect CHLO that HLO has no opcode for, made of those that it has.

Source: `stablehlo/transforms/ChloLegalizeToStablehlo.cpp` in openxla/stablehlo for what is
computed; the numbers are from Giles, "Approximating the erfinv function", the Cephes library, and
Lanczos' approximation as in Numerical Recipes, 6.1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.frontends.stablehlo import coefficients
from hlo.frontends.stablehlo.table import translates
from hlo.types.element_type import ELEMENT_TYPES, F32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.frontends.stablehlo.operation import Operation
    from hlo.frontends.stablehlo.scope import RegionScope
    from hlo.instruction import Instruction

    Operands = list[Instruction]
    Function = Callable[..., Instruction]


def _function(name: str) -> Callable[[Function], Function]:
    """Enter a function of real numbers; small floats are computed with in f32.

    It takes the scope, and the operands of the operation.
    """

    def enter(function: Function) -> Function:
        def translate(scope: RegionScope, _op: Operation, operands: Operands) -> Instruction:
            kind = operands[0].shape.element_type
            small = kind.is_floating and kind.bits < F32.bits
            with scope.builder:
                inputs = [_converted(scope, x, F32) if small else x for x in operands]
                result = function(scope, *inputs)
                is_number = result.shape.element_type is F32
                return _converted(scope, result, kind) if small and is_number else result

        translates(name)(translate)
        return function

    return enter


def _converted(scope: RegionScope, x: Instruction, kind: Any) -> Instruction:
    return scope.add("convert", x, shape=x.shape.with_type(kind))


def _equal(scope: RegionScope, x: Instruction, y: float | Instruction) -> Instruction:
    other = scope.builder.number(y, x) if isinstance(y, int | float) else y
    return scope.add("compare", x, other, direction="EQ")


def _is_whole(scope: RegionScope, x: Instruction) -> Instruction:
    return _equal(scope, x, scope.add("floor", x))


def _select(scope: RegionScope, condition: Instruction, x: Any, y: Any) -> Instruction:
    """The one value where a condition holds, else the other; numbers are of the other's type."""
    like = y if isinstance(x, int | float) else x
    one, other = (
        scope.builder.number(v, like) if isinstance(v, int | float) else v for v in (x, y)
    )
    return scope.add("select", condition, one, other)


def _polynomial(scope: RegionScope, x: Instruction, numbers: Sequence[float]) -> Instruction:
    """Horner's rule; the coefficient of the highest power comes first."""
    total = scope.builder.number(numbers[0], x)
    for number in numbers[1:]:
        total = total * x + number
    return total


@_function("chlo.square")
def square(scope: RegionScope, x: Instruction) -> Instruction:
    """X * x; of complex numbers without the nan that infinite parts would make."""
    if not x.shape.element_type.is_complex:
        return scope.add("multiply", x, x)
    re, im = scope.add("real", x), scope.add("imag", x)
    alike = scope.add("is-finite", re) & _equal(scope, abs(re), abs(im))
    real = _select(scope, alike, 0, (re - im) * (re + im))
    return scope.add("complex", real, re * im * 2)


@_function("chlo.conj")
def conjugate(scope: RegionScope, x: Instruction) -> Instruction:
    """The complex number with the other sign of the imaginary part; a real one itself."""
    if not x.shape.element_type.is_complex:
        return x
    return scope.add("complex", scope.add("real", x), -scope.add("imag", x))


@_function("chlo.is_inf")
def is_inf(_scope: RegionScope, x: Instruction) -> Instruction:
    """Whether a number is infinite."""
    return abs(x) >= math.inf


@_function("chlo.is_pos_inf")
def is_pos_inf(_scope: RegionScope, x: Instruction) -> Instruction:
    """Whether a number is positive infinity."""
    return x >= math.inf


@_function("chlo.is_neg_inf")
def is_neg_inf(_scope: RegionScope, x: Instruction) -> Instruction:
    """Whether a number is negative infinity."""
    return x <= -math.inf


@_function("chlo.atan")
def atan(scope: RegionScope, x: Instruction) -> Instruction:
    """The angle whose tangent is x; of complex numbers -i atanh(i x)."""
    if not x.shape.element_type.is_complex:
        return scope.add("atan2", x, scope.builder.number(1, x))
    turned = scope.add("complex", -scope.add("imag", x), scope.add("real", x))
    angle = scope.add("atanh", turned)
    return scope.add("complex", scope.add("imag", angle), -scope.add("real", angle))


@_function("chlo.erf_inv")
def erf_inv(scope: RegionScope, x: Instruction) -> Instruction:
    """The number whose error function is x: polynomials in a root of -log(1 - x^2)."""
    w = -scope.add("log-plus-one", -(x * x))
    ranges = coefficients.ERF_INV[x.shape.element_type.name]
    total = None
    for limit, rooted, shift, numbers in reversed(ranges):
        variable = (scope.add("sqrt", w) if rooted else w) - shift
        polynomial = _polynomial(scope, variable, numbers)
        total = polynomial if total is None else _select(scope, w < limit, polynomial, total)
    assert total is not None
    return _select(scope, _equal(scope, abs(x), 1), x * math.inf, total * x)


@_function("chlo.erfc")
def erfc(scope: RegionScope, x: Instruction) -> Instruction:
    """1 - erf(x); for large x from exp(-x^2), which 1 would swallow."""
    size = abs(x)
    edge = scope.add("exponential", -(x * x))
    if x.shape.element_type is F32:
        q = 1 / size
        near, far = (_polynomial(scope, q * q, n) for n in coefficients.ERFC_F32)
        tail = edge * q * _select(scope, size < 2, near, far)
    else:
        (p, q), (r, s) = coefficients.ERFC_F64
        near = _polynomial(scope, size, p) / _polynomial(scope, size, q)
        far = _polynomial(scope, size, r) / _polynomial(scope, size, s)
        tail = edge * _select(scope, size < 8, near, far)
    tail = _select(scope, edge <= 0, 0.0, tail)
    large = _select(scope, x < 0, 2 - tail, tail)
    return _select(scope, size > 1, large, 1 - scope.add("erf", x))


def _lanczos(scope: RegionScope, x: Instruction) -> tuple[Instruction, Instruction, Instruction]:
    """X - 1, or -x below one half; the logarithm of that and 7.5; whether it is below."""
    below = x < 0.5
    z = _select(scope, below, -x, x - 1)
    shift = coefficients.LANCZOS_SHIFT
    log = scope.add("log-plus-one", z / shift) + math.log(shift)
    return z, log, below


@_function("chlo.lgamma")
def lgamma(scope: RegionScope, x: Instruction) -> Instruction:
    """The logarithm of the gamma function, by Lanczos; below one half by reflection."""
    z, log, below = _lanczos(scope, x)
    total = scope.builder.number(coefficients.LANCZOS_FIRST, x)
    for number, coefficient in enumerate(coefficients.LANCZOS):
        total = total + coefficient / (z + (number + 1))
    t = z + coefficients.LANCZOS_SHIFT
    large = (z + 0.5 - t / log) * log + math.log(2 * math.pi) / 2 + scope.add("log", total)
    part = abs(x) - scope.add("floor", abs(x))
    part = _select(scope, part > 0.5, 1 - part, part)
    sine = scope.add("log", scope.add("sine", part * math.pi))
    finite = scope.add("is-finite", sine)
    mirrored = _select(scope, finite, math.log(math.pi) - sine - large, -sine)
    result = _select(scope, below, mirrored, large)
    return _select(scope, abs(x) >= math.inf, math.inf, result)


@_function("chlo.digamma")
def digamma(scope: RegionScope, x: Instruction) -> Instruction:
    """The derivative of the logarithm of the gamma function, by Lanczos and by reflection."""
    z, log, below = _lanczos(scope, x)
    total = scope.builder.number(coefficients.LANCZOS_FIRST, x)
    slope = scope.builder.number(0, x)
    for number, coefficient in enumerate(coefficients.LANCZOS):
        shifted = z + (number + 1)
        slope = slope - coefficient / (shifted * shifted)
        total = total + coefficient / shifted
    t = z + coefficients.LANCZOS_SHIFT
    large = log + slope / total - (coefficients.LANCZOS_SHIFT - 0.5) / t
    angle = (x + abs(scope.add("floor", x + 0.5))) * math.pi
    mirrored = large - math.pi * scope.add("cosine", angle) / scope.add("sine", angle)
    result = _select(scope, below, mirrored, large)
    return _select(scope, (x <= 0) & _is_whole(scope, x), math.nan, result)


@_function("chlo.zeta")
def zeta(scope: RegionScope, x: Instruction, q: Instruction) -> Instruction:
    """The sum of (q + k)^-x over all k, Hurwitz' zeta function, by Euler and Maclaurin's formula.

    Ten terms are added up. The integral of the terms after them, half of the first of these, and
    corrections by derivatives stand for the rest.
    """
    at, total = q, scope.add("power", q, -x)
    for _ in range(coefficients.ZETA_TERMS - 1):
        at = at + 1
        total = total + scope.add("power", at, -x)
    at = at + 1
    term = scope.add("power", at, -x)
    correction = scope.builder.number(coefficients.ZETA[-1], x)
    for k, coefficient in reversed(list(enumerate(coefficients.ZETA[:-1]))):
        factor = (x + (2 * k + 2)) * (x + (2 * k + 1))
        correction = factor * (1 / (at * at) * correction) + coefficient
    result = total + term * at / (x - 1) + term * (x / at * correction + 0.5)
    smallest = float(np.finfo(x.shape.element_type.dtype).smallest_subnormal)
    result = _select(scope, abs(term) < abs(total) * smallest, total, result)
    result = _select(scope, x < 1, math.nan, result)
    is_even = _is_whole(scope, x) & _equal(scope, x % 2, 0)
    at_pole = _select(scope, is_even, math.inf, scope.builder.number(math.nan, x))
    result = _select(scope, (q <= 0) & ~_is_whole(scope, x), math.nan, result)
    result = _select(scope, (q <= 0) & _is_whole(scope, q), at_pole, result)
    return _select(scope, _equal(scope, x, 1), math.inf, result)


@_function("chlo.polygamma")
def polygamma(scope: RegionScope, n: Instruction, x: Instruction) -> Instruction:
    """The n-th derivative of digamma: n! zeta(n + 1, x), negative for even n."""
    factorial = scope.add("exponential", lgamma(scope, n + 1))
    result = (n % 2 * 2 - 1) * factorial * zeta(scope, n + 1, x)
    result = _select(scope, _equal(scope, n, 0), digamma(scope, x), result)
    return _select(scope, (n < 0) | ~_is_whole(scope, n), math.nan, result)


def _chebyshev(scope: RegionScope, x: Instruction, numbers: Sequence[float]) -> Instruction:
    """A sum of Chebyshev polynomials, by Clenshaw's rule."""
    before = last = scope.builder.number(0, x)
    total = scope.builder.number(numbers[0], x)
    for number in numbers[1:]:
        before, last = last, total
        total = x * last - before + number
    return (total - before) * 0.5


@_function("chlo.bessel_i1e")
def bessel_i1e(scope: RegionScope, x: Instruction) -> Instruction:
    """The modified Bessel function of order 1, times exp(-|x|)."""
    size = abs(x)
    near = _chebyshev(scope, size * 0.5 - 2, coefficients.BESSEL_I1E_NEAR) * size
    far = _chebyshev(scope, 32 / size - 2, coefficients.BESSEL_I1E_FAR) * scope.add("rsqrt", size)
    return _select(scope, size <= 8, near, far) * scope.add("sign", x)


@translates("chlo.next_after")
def next_after(scope: RegionScope, _op: Operation, operands: Operands) -> Instruction:
    """The number next to x on the way to y: the bits of a float count them."""
    x, y = operands
    kind = x.shape.element_type
    integer = ELEMENT_TYPES[f"u{kind.bits}"]
    sign = 1 << kind.bits - 1

    def bits(value: Instruction) -> Instruction:
        return scope.add("bitcast-convert", value, shape=value.shape.with_type(integer))

    def compared(direction: str, a: Instruction, b: Instruction) -> Instruction:
        return scope.add("compare", a, b, direction=direction)

    with scope.builder:
        words = [bits(value) for value in operands]
        sizes = [w & (sign - 1) for w in words]
        signs = [w & sign for w in words]
        zero = scope.builder.number(0, words[0])
        away = compared("GT", sizes[0], sizes[1]) | compared("NE", *signs)
        step = _select(scope, away, zero - 1, zero + 1)
        from_zero = _select(scope, compared("EQ", sizes[1], zero), words[1], signs[1] | 1)
        moved = _select(scope, compared("EQ", sizes[0], zero), from_zero, words[0] + step)
        same = compared("EQ", x, y)
        moved = _select(scope, same, words[1], moved)
        result = scope.add("bitcast-convert", moved, shape=x.shape)
        is_nan = compared("NE", x, x) | compared("NE", y, y)
        return _select(scope, is_nan, math.nan, result)
