"""Rules that are right, and look as if they might not be: `hlo check` must accuse none."""

from math import inf

from strategies.wrong.floats import at_least, at_most, equal, greater, less, unequal
from strategies.wrong.indices import RIGHT
from strategies.wrong.order import with_attrs

from hlo.types.element_type import BF16, F16, F32, F64, S32
from interpreter.numbers.compare import FINITE, ROUNDING, ZERO_SIGN
from optimizer.rewriting.guards import is_floating, is_integer, is_signed, is_unsigned
from optimizer.rewriting.pattern import (
    abs_,
    add,
    and_,
    bitcast_convert,
    c1,
    c2,
    ceil,
    clamp,
    compare,
    complex_,
    convert,
    cosine,
    divide,
    exponential,
    exponential_minus_one,
    floor,
    imag,
    is_finite,
    log,
    log_plus_one,
    maximum,
    minimum,
    multiply,
    negate,
    not_,
    or_,
    p,
    q,
    real,
    reduce_precision,
    remainder,
    reverse,
    rsqrt,
    select,
    shift_right_logical,
    sign,
    sine,
    sqrt,
    subtract,
    tan,
    transpose,
    x,
    xor,
    y,
    z,
)  # fmt: skip
from optimizer.rewriting.rule import Rule, rule


@rule(reverse(reverse(x, p), q))
def reverse_of_reverse(x, p, q):
    return reverse(x, tuple(sorted({*p} ^ {*q})))


@rule(transpose(transpose(x, p), q))
def transpose_of_transpose(x, p, q):
    return transpose(x, tuple(p[i] for i in q))


@rule(negate(x))
def flipped_sign_bit(x):
    """By the bits of f32."""
    if x.shape.element_type is not F32:
        return None
    bits = bitcast_convert(x, shape=x.shape.with_type(S32))
    return bitcast_convert(xor(bits, -(2**31)), shape=x.shape)


@rule(is_finite(x))
def finite_is_below_infinity(x):
    """Few floats of eight bits have an infinity."""
    if x.shape.element_type.bits < 16:
        return None
    return less(abs_(x), inf)


@rule(convert(convert(x)))
def widened_twice(x, root):
    """Each of the integers holds all of the one before."""
    first, middle, last = (s.element_type for s in (x.shape, root.operands[0].shape, root.shape))
    whole = first.kind == middle.kind == last.kind and first.is_integer
    return convert(x, shape=root.shape) if whole and first.bits < middle.bits < last.bits else None


@rule(maximum(convert(x), convert(y)))
def rounded_maximum(x, y, root):
    """Rounding keeps the order, and these types have an infinity."""
    narrow, wide = root.shape.element_type, x.shape.element_type
    if x.shape != y.shape or narrow not in (F16, BF16, F32) or not wide.is_floating:
        return None
    return convert(maximum(x, y), shape=root.shape)


@rule(compare(convert(x), convert(y)))
def compared_before_widening(x, y, root):
    """The wider type has all numbers of the narrower one, in their order."""
    pair = x.shape.element_type, root.operands[0].shape.element_type
    if x.shape != y.shape or pair not in ((BF16, F32), (F16, F32), (F32, F64)):
        return None
    return compare(x, y, direction=root.attrs.direction, type=root.attrs.type)


@rule(reduce_precision(x))
def reduced_by_bfloat(x, root):
    """These are the bits of bf16, which has the exponents of f32."""
    format_ = root.attrs.exponent_bits, root.attrs.mantissa_bits
    if x.shape.element_type is not F32 or format_ != (8, 7):
        return None
    return convert(convert(x, shape=x.shape.with_type(BF16)), shape=x.shape)


@rule(not_(compare(x, y)))
def negated_total_order(x, y, root):
    """Every two numbers are ordered, NaN among them."""
    inner = root.operands[0].attrs
    other = {"LT": "GE", "GT": "LE", "LE": "GT", "GE": "LT"}.get(inner.direction)
    if other is None or inner.type != "TOTALORDER":
        return None
    return compare(x, y, direction=other, type="TOTALORDER")


FLOATING, INTEGER, SIGNED, UNSIGNED = is_floating(x), is_integer(x), is_signed(x), is_unsigned(x)
# fmt: off
RULES = [
    Rule(abs_(x), maximum(x, negate(x)), where=FLOATING, name="abs by maximum"),
    Rule(abs_(x), maximum(x, negate(x)), where=SIGNED, name="abs by maximum, of integers"),
    Rule(abs_(negate(x)), abs_(x), name="abs of a negative"),
    Rule(multiply(negate(x), negate(y)), multiply(x, y), where=FLOATING | INTEGER, name="two signs"),
    Rule(divide(negate(x), negate(y)), divide(x, y), where=FLOATING, name="two signs in a quotient"),
    Rule(subtract(x, y), add(x, negate(y)), where=FLOATING | INTEGER, name="subtract by add"),
    Rule(subtract(-0.0, x), negate(x), where=FLOATING, name="-0 - x"),
    Rule(add(x, -0.0), x, where=FLOATING, name="x + -0"),
    Rule(multiply(x, -1), negate(x), where=FLOATING | INTEGER, name="x * -1"),
    Rule(divide(x, -1), negate(x), where=FLOATING, name="x / -1"),
    Rule(multiply(x, 2), add(x, x), where=FLOATING | INTEGER, name="x * 2"),
    Rule(subtract(x, x), 0, where=INTEGER, name="x - x, of integers"),
    Rule(subtract(x, x), 0, where=FLOATING, promise=FINITE, name="x - x, of finite floats"),
    Rule(add(x, 0), x, where=FLOATING, promise=ZERO_SIGN, name="x + 0, but for the sign"),
    Rule(select(z, x, x), x, name="either is the same"),
    Rule(select(greater(x, y), x, y), maximum(x, y), where=INTEGER, name="maximum of integers"),
    Rule(select(less(x, 0), negate(x), x), abs_(x), where=SIGNED, name="abs of integers"),
    Rule(maximum(x, minimum(x, y)), x, where=INTEGER, name="absorption, of integers"),
    Rule(add(maximum(x, y), minimum(x, y)), add(x, y), where=FLOATING | INTEGER, name="sum of both"),
    Rule(multiply(maximum(x, y), minimum(x, y)), multiply(x, y), where=INTEGER, name="product of both"),
    Rule(maximum(negate(x), negate(y)), negate(minimum(x, y)), where=FLOATING, name="maximum of negatives"),
    Rule(maximum(x, -inf), x, where=FLOATING, name="no less than -infinity"),
    Rule(minimum(x, inf), x, where=FLOATING, name="no more than infinity"),
    Rule(maximum(x, x), x, name="maximum of one"),
    Rule(not_(less(x, y)), at_least(x, y), where=INTEGER, name="not less, of integers"),
    Rule(not_(equal(x, y)), unequal(x, y), name="not equal"),
    Rule(at_most(x, y), or_(less(x, y), equal(x, y)), where=FLOATING | INTEGER, name="less or equal"),
    Rule(equal(x, y), and_(at_most(x, y), at_least(x, y)), where=FLOATING, name="between the same"),
    Rule(less(negate(x), negate(y)), greater(x, y), where=FLOATING, name="order of negatives"),
    Rule(equal(subtract(x, y), 0), equal(x, y), where=INTEGER, name="no difference"),
    Rule(at_least(x, 0), 1, where=UNSIGNED, name="none below 0"),
    Rule(divide(x, 8), shift_right_logical(x, 3), where=UNSIGNED, name="quotient by shift"),
    Rule(remainder(x, 8), and_(x, 7), where=UNSIGNED, name="remainder by mask"),
    Rule(multiply(multiply(x, c1), c2), multiply(x, c1 * c2), where=INTEGER, name="product of factors"),
    Rule(not_(x), subtract(-1, x), where=SIGNED, name="not by subtract"),
    Rule(negate(x), add(not_(x), 1), where=SIGNED, name="two's complement"),
    Rule(multiply(add(x, y), z), add(multiply(x, z), multiply(y, z)), where=INTEGER, name="distributed"),
    Rule(ceil(x), negate(floor(negate(x))), name="ceil by floor"),
    Rule(multiply(sign(x), abs_(x)), x, where=SIGNED, name="sign and size"),
    Rule(real(complex_(x, y)), x, name="the real part"),
    Rule(imag(complex_(x, y)), y, name="the imaginary part"),
    Rule(exponential_minus_one(log_plus_one(x)), x, where=FLOATING, promise=ROUNDING, name="inverse near 0"),
    Rule(log(add(x, 1)), log_plus_one(x), where=FLOATING, promise=ROUNDING, name="digits that come back"),
    Rule(subtract(exponential(x), 1), exponential_minus_one(x), where=FLOATING, promise=ROUNDING,
         name="more digits that come back"),
    Rule(add(add(x, c1), c2), add(x, c1 + c2), where=FLOATING, promise=ROUNDING, name="sum of constants"),
    Rule(tan(x), divide(sine(x), cosine(x)), where=FLOATING, promise=ROUNDING, name="tangent by quotient"),
    Rule(rsqrt(x), divide(1, sqrt(x)), where=FLOATING, promise=ROUNDING, name="reciprocal of a root"),
    Rule(is_finite(x), equal(subtract(x, x), 0), where=FLOATING, name="finite by difference"),
    Rule(multiply(sign(x), abs_(x)), x, where=FLOATING, name="sign and size, of floats"),
    Rule(remainder(x, -1), 0, where=SIGNED, name="no remainder of -1"),
    Rule(clamp(x, clamp(x, y, z), z), clamp(x, y, z), where=INTEGER | FLOATING, name="clamped twice"),
    Rule(minimum(x, maximum(y, z)), maximum(minimum(x, y), minimum(x, z)), where=INTEGER | FLOATING,
         name="distributed over maximum"),
    Rule(add(and_(x, y), or_(x, y)), add(x, y), where=INTEGER, name="bits of both"),
    rounded_maximum, compared_before_widening, reduced_by_bfloat, negated_total_order,
    reverse_of_reverse, transpose_of_transpose, flipped_sign_bit, finite_is_below_infinity, widened_twice,
]
# fmt: on
PASSES = (
    *RIGHT,
    with_attrs("stable_sorts", "sort", is_stable=True),
    with_attrs("no_claims", "scatter", unique_indices=False, indices_are_sorted=False),
    with_attrs("no_claims_of_gathers", "gather", indices_are_sorted=False),
)
