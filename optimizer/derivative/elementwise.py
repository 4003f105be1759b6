"""Derivatives of elementwise opcodes: by each operand, a line an opcode.

    d f(x, z) = f_x(x, z) dx + f_z(x, z) dz

`y` is the result, which many derivatives reuse: exp' = exp. Complex numbers are as in JAX:
derivatives are those of holomorphic functions, and transposes do not conjugate.
"""

from __future__ import annotations

from functools import reduce
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from optimizer.derivative.table import (
    Leaves,
    again,
    detached,
    differentiates,
    filled,
    has_tangents,
    linear_in,
    nothing,
    transposes,
    zeros,
)
from optimizer.expanders.linear_algebra.matrices import conjugate
from optimizer.expanders.parts import spread, to_type
from optimizer.rewriting.make import make, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Instruction

    Factor = Instruction | float


def _op(opcode: str) -> Callable[..., Instruction]:
    return lambda *operands: make(opcode, *operands)


sin, cos, sinh, cosh = _op("sine"), _op("cosine"), _op("sinh"), _op("cosh")
exp, log, rsqrt, select = _op("exponential"), _op("log"), _op("rsqrt"), _op("select")
power, sign, floor, absolute = _op("power"), _op("sign"), _op("floor"), _op("abs")


def equal(x: Instruction, y: Any) -> Instruction:
    """Where two numbers are equal."""
    return make("compare", x, y, direction="EQ")


# fmt: off
OF_ONE: dict[str, Callable[[Instruction, Instruction], Instruction]] = {
    "acos":        lambda _, x: -rsqrt(1 - x * x),
    "acosh":       lambda _, x: rsqrt(x - 1) * rsqrt(x + 1),
    "asin":        lambda _, x: rsqrt(1 - x * x),
    "asinh":       lambda _, x: rsqrt(x * x + 1),
    "atanh":       lambda _, x: 1 / ((1 + x) * (1 - x)),
    "cbrt":        lambda y, _: 1 / (3 * y * y),
    "cosine":      lambda _, x: -sin(x),
    "cosh":        lambda _, x: sinh(x),
    "erf":         lambda _, x: 2 / sqrt(pi) * exp(-(x * x)),
    "exponential": lambda y, _: y,
    "exponential-minus-one": lambda y, _: y + 1,
    "log":         lambda _, x: 1 / x,
    "log-plus-one": lambda _, x: 1 / (x + 1),
    "logistic":    lambda y, _: y * (1 - y),
    "rsqrt":       lambda y, x: -0.5 * (y / x),
    "sine":        lambda _, x: cos(x),
    "sinh":        lambda _, x: cosh(x),
    "sqrt":        lambda y, _: 0.5 / y,
    "tan":         lambda y, _: 1 + y * y,
    "tanh":        lambda y, _: 1 - y * y,
}
OF_TWO: dict[str, Callable[[Instruction, Instruction, Instruction], tuple[Factor, Factor]]] = {
    "atan2":       lambda _, x, z: (z / (x * x + z * z), -x / (x * x + z * z)),
    "maximum":     lambda y, x, z: (share(y, x, z), share(y, z, x)),
    "minimum":     lambda y, x, z: (share(y, x, z), share(y, z, x)),
    "multiply":    lambda _, x, z: (finite(z), finite(x)),
    "power":       lambda y, x, z: (by_base(x, z), by_exponent(y, x, z)),
    "remainder":   lambda _, x, z: (1, -(sign(x / z) * floor(absolute(x / z)))),
}
# fmt: on


def finite(factor: Instruction) -> Factor:
    """A factor; 0 for an infinite one, for its products are infinite constants but for their sign.

    A value is often chosen between such a product and another one, as at the ends of the inverse
    of erf; where the other one is chosen, the cotangent 0 times infinity would be NaN.
    """
    value = value_of(factor)
    return 0 if value is not None and value.size and np.isinf(value).all() else factor


def share(y: Instruction, x: Instruction, other: Instruction) -> Instruction:
    """The part of a maximum's change that one operand has: half of it where both are equal."""
    one, half, none = (make("add", zeros(y.shape), n) for n in (1, 0.5, 0))
    return select(equal(x, y), select(equal(other, y), half, one), none)


def by_base(x: Instruction, z: Instruction) -> Instruction:
    """The derivative z x^(z-1) of a power; 0 where z is 0, whatever x is."""
    is_zero = equal(z, 0)
    return select(is_zero, zeros(x.shape), z * power(x, select(is_zero, zeros(x.shape) + 1, z - 1)))


def by_exponent(y: Instruction, x: Instruction, z: Instruction) -> Instruction:
    """The derivative log(x) x^z of a power; 0 where x is 0 and z is not negative."""
    if x.shape.element_type.is_complex:
        return select(equal(x, 0), y * 0, log(x) * y)
    is_zero = equal(x, 0)
    flat = make("and", is_zero, z >= 0)
    return select(flat, zeros(y.shape), log(select(flat, zeros(x.shape) + 1, x)) * y)


def chain_rule(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction | None:
    """The sum, over the operands, of the derivative by each times its tangent."""
    with detached():
        if instr.opcode in OF_ONE:
            factors: Sequence[Factor] = (OF_ONE[instr.opcode](instr, instr.operands[0]),)
        else:
            factors = OF_TWO[instr.opcode](instr, *instr.operands)
        pairs = zip(factors, tangents, strict=True)
        return sum_of([t if f == 1 else t * f for f, (t,) in pairs if t is not None and f != 0])


def sum_of(terms: Sequence[Instruction]) -> Instruction | None:
    """The sum of some terms; None if there is none."""
    return reduce(lambda x, y: make("add", x, y), terms) if terms else None


differentiates.define_all(dict.fromkeys((*OF_ONE, *OF_TWO), chain_rule))


@differentiates("add", "subtract")
def sums(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction | None:
    """A sum of changes; no zeros are added."""
    (left,), (right,) = tangents
    if right is None:
        return left
    if left is None:
        return right if instr.opcode == "add" else make("negate", right)
    return make(instr.opcode, left, right)


@differentiates("divide")
def divide(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction | None:
    """The quotient rule: dx / z - (x / z) dz / z."""
    (left,), (right,) = tangents
    _, z = instr.operands
    with detached():
        result = None if left is None else left / z
        if right is not None:
            term = right * -(instr / z)
            result = term if result is None else result + term
    return result


@differentiates("abs")
def abs_(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction:
    """The sign; of a complex number z, the change along z: Re(conj(z) dz) / |z|."""
    (x,), ((tangent,),) = instr.operands, tangents
    assert tangent is not None
    with detached():
        if not x.shape.element_type.is_complex:
            return tangent * sign(x)
        size = select(equal(instr, 0), zeros(instr.shape) + 1, instr)
        direction = conjugate(x) / make("complex", size, zeros(size.shape))
        return make("real", tangent * direction)


# The result is a step function, or no real or complex number.
differentiates.define_all(
    dict.fromkeys(
        (
            *("and", "ceil", "compare", "count-leading-zeros", "floor", "is-finite", "mulhi"),
            *("not", "or", "popcnt", "round-nearest-afz", "round-nearest-even", "shift-left"),
            *("shift-right-arithmetic", "shift-right-logical", "sign", "xor", "bitcast-convert"),
        ),
        nothing,
    )
)
# Each is linear in all of its operands.
differentiates.define_all(
    dict.fromkeys(("negate", "real", "imag", "reduce-precision", "complex"), linear_in())
)


@differentiates("convert", "stochastic-convert")
def convert(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction | None:
    """The same conversion, if the result is real or complex."""
    return to_type_of(instr, tangents[0][0])


def to_type_of(instr: Instruction, x: Instruction | None) -> Instruction | None:
    """A tangent in the element type of an instruction; None where that has no tangents."""
    if x is None or not has_tangents(instr.shape):
        return None
    return to_type(x, instr.shape.element_type)


@differentiates("select")
def select_(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction:
    """The tangent of the value that is chosen; one pred may choose for a whole array."""
    which, x, y = instr.operands
    _, (dx,), (dy,) = tangents
    return again(instr, which, filled(dx, x.shape), filled(dy, y.shape))


@differentiates("clamp")
def clamp(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction | None:
    """The tangent of the value inside of the bounds, of the bound outside."""
    low, x, high = (spread_to(o, instr) for o in instr.operands)
    dlow, dx, dhigh = (None if t is None else spread_to(t, instr) for (t,) in tangents)
    none = zeros(instr.shape)
    with detached():
        crossed = low > high  # the result is the upper bound
        inside = make("and", x > low, x < high)
        below, above = (low > x) & ~crossed, (high < x) | crossed
        parts = ((inside, dx), (below, dlow), (above, dhigh))
        return sum_of([select(where, t, none) for where, t in parts if t is not None])


def spread_to(x: Instruction, like: Instruction) -> Instruction:
    """A scalar bound, or one pred, as an array of another instruction's dimensions."""
    return x if x.shape.dims == like.shape.dims else spread(x, like.shape.dims)


@transposes("add")
def add_back(
    _instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> list[Instruction | None]:
    """Each summand has the cotangent of the sum."""
    return [cotangents[0] if is_linear else None for is_linear in linear]


@transposes("subtract")
def subtract_back(
    _instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> list[Instruction | None]:
    """The cotangent of the difference, and its negative."""
    (ct,) = cotangents
    assert ct is not None
    return [ct if linear[0] else None, make("negate", ct) if linear[1] else None]


@transposes("negate")
def negate_back(
    _instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]
) -> list[Instruction | None]:
    """A linear function with a symmetric matrix is its own transpose."""
    (ct,) = cotangents
    assert ct is not None
    return [make("negate", ct)]


@transposes("multiply", "divide")
def scale_back(
    instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> list[Instruction | None]:
    """The same factor, or divisor, again."""
    (ct,), k = cotangents, linear.index(True)
    assert ct is not None
    factor = instr.operands[1 - k]
    scaled = make(instr.opcode, ct, factor)
    return [scaled, None] if k == 0 else [None, scaled]


@transposes("convert", "reduce-precision")
def convert_back(
    instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]
) -> list[Instruction | None]:
    """The conversion back; of a complex number to a real one, the real part."""
    (ct,), (x,) = cotangents, instr.operands
    assert ct is not None
    if instr.opcode == "reduce-precision":
        return [again(instr, ct)]
    if ct.shape.element_type.is_complex and not x.shape.element_type.is_complex:
        ct = make("real", ct)
    return [to_type(ct, x.shape.element_type)]


@transposes("select")
def select_back(
    instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> list[Instruction | None]:
    """The chosen value has the cotangent."""
    (ct,), which = cotangents, instr.operands[0]
    assert ct is not None
    none = zeros(ct.shape)
    return [
        None,
        again(instr, which, ct, none) if linear[1] else None,
        again(instr, which, none, ct) if linear[2] else None,
    ]


@transposes("real")
def real_back(
    instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]
) -> list[Instruction | None]:
    """A complex number with this real part."""
    (ct,), (x,) = cotangents, instr.operands
    assert ct is not None
    return [make("complex", ct, zeros(ct.shape)) if x.shape.element_type.is_complex else ct]


@transposes("imag")
def imag_back(
    _instr: Instruction, cotangents: Leaves, _linear: Sequence[bool]
) -> list[Instruction | None]:
    """An imaginary number, of the negative: transposes do not conjugate."""
    (ct,) = cotangents
    assert ct is not None
    return [make("complex", zeros(ct.shape), make("negate", ct))]


@transposes("complex")
def complex_back(
    _instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> list[Instruction | None]:
    """The parts, the imaginary one negative."""
    (ct,) = cotangents
    assert ct is not None
    return [
        make("real", ct) if linear[0] else None,
        make("negate", make("imag", ct)) if linear[1] else None,
    ]
