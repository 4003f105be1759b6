"""Wrong rules about floats: NaN, both zeros, infinities, the ends of a type, lost digits.

Each is right for all ordinary numbers, and most are right for integers.
"""

from math import inf

from hlo.types.element_type import BF16, F8E4M3FN, F16, F32, S32, U16, U32
from interpreter.numbers.compare import FINITE, ROUNDING, ZERO_SIGN
from optimizer.rewriting.guards import is_complex, is_floating
from optimizer.rewriting.pattern import (
    a,
    abs_,
    add,
    and_,
    atan2,
    b,
    bitcast_convert,
    c,
    c1,
    c2,
    cbrt,
    ceil,
    clamp,
    compare,
    complex_,
    convert,
    cosh,
    divide,
    exponential,
    exponential_minus_one,
    floor,
    is_finite,
    log,
    log_plus_one,
    logistic,
    maximum,
    minimum,
    multiply,
    negate,
    not_,
    or_,
    power,
    real,
    reduce_precision,
    remainder,
    round_nearest_afz,
    round_nearest_even,
    select,
    shift_right_logical,
    sign,
    sinh,
    sqrt,
    subtract,
    tanh,
    x,
    y,
    z,
)  # fmt: skip
from optimizer.rewriting.rule import Rule, rule
from optimizer.rewriting.term import Variable

p = Variable("mask")


def less(x, y):
    return compare(x, y, direction="LT", type="")


def greater(x, y):
    return compare(x, y, direction="GT", type="")


def at_most(x, y):
    return compare(x, y, direction="LE", type="")


def at_least(x, y):
    return compare(x, y, direction="GE", type="")


def equal(x, y):
    return compare(x, y, direction="EQ", type="")


def unequal(x, y):
    return compare(x, y, direction="NE", type="")


@rule(convert(convert(x)))
def narrowed_once(x, root):
    """By way of f16, f32 is rounded twice on its way to bf16."""
    narrow = root.operands[0].shape.element_type is F16 and root.shape.element_type is BF16
    return convert(x, shape=root.shape) if narrow and x.shape.element_type is F32 else None


@rule(convert(convert(x)))
def there_and_back(x, root):
    """An integer that goes through a float comes back rounded."""
    middle = root.operands[0].shape.element_type
    return (
        x
        if x.shape == root.shape and middle.is_floating and x.shape.element_type.is_integer
        else None
    )


@rule(convert(convert(x)))
def saturated_once(x, root):
    """A float that is out of range becomes the nearest integer of the first type, then wraps."""
    middle, last = root.operands[0].shape.element_type, root.shape.element_type
    floating = x.shape.element_type.is_floating
    both = middle.is_integer and last.is_integer and last.bits < middle.bits
    return convert(x, shape=root.shape) if floating and both else None


@rule(equal(x, y))
def equal_bits(x, y):
    """Zeros of both signs are equal, and NaN is unequal to itself."""
    if x.shape.element_type is not F32:
        return None
    bits = x.shape.with_type(S32)
    return equal(bitcast_convert(x, shape=bits), bitcast_convert(y, shape=bits))


@rule(less(x, y))
def order_of_bits(x, y):
    """Negative floats lie in the other order."""
    if x.shape.element_type is not F32:
        return None
    bits = x.shape.with_type(S32)
    return less(bitcast_convert(x, shape=bits), bitcast_convert(y, shape=bits))


@rule(floor(x))
def floor_by_integer(x):
    """No integer is that large, and none is -0."""
    whole = x.shape.with_type(S32)
    return convert(convert(x, shape=whole), shape=x.shape)


@rule(compare(x, y))
def partial_for_total(x, y, root):
    """The total order tells zeros and NaNs apart."""
    if root.attrs.type != "TOTALORDER":
        return None
    return compare(x, y, direction=root.attrs.direction)


@rule(compare(x, y))
def total_for_partial(x, y, root):
    """The total order tells zeros and NaNs apart."""
    if root.attrs.type == "TOTALORDER" or not x.shape.element_type.is_floating:
        return None
    return compare(x, y, direction=root.attrs.direction, type="TOTALORDER")


@rule(convert(convert(x)))
def out_of_range_and_back(x, root):
    """A float that goes through a narrower one is rounded, or becomes an infinity."""
    middle = root.operands[0].shape.element_type
    return (
        x if x.shape == root.shape and x.shape.element_type is F32 and middle.is_floating else None
    )


def is_ordered_by_rounded(compared, wide):
    """Whether a comparison of the usual order is one of numbers of fewer digits."""
    narrow = compared.operands[0].shape.element_type
    return compared.attrs.type != "TOTALORDER" and narrow.is_floating and wide.bits > narrow.bits


@rule(compare(convert(x), convert(y)))
def compared_before_rounding(x, y, root):
    """Different numbers may be rounded to one."""
    wide = x.shape.element_type
    if x.shape != y.shape or not wide.is_floating or not is_ordered_by_rounded(root, wide):
        return None
    return compare(x, y, direction=root.attrs.direction)


@rule(compare(convert(x), convert(y)))
def compared_as_integers(x, y, root):
    """Large integers are rounded where they become floats."""
    becomes = root.operands[0].shape.element_type
    if x.shape != y.shape or not x.shape.element_type.is_integer or not becomes.is_floating:
        return None
    return compare(x, y, direction=root.attrs.direction)


@rule(compare(convert(x), c))
def threshold_before_rounding(x, c, root):
    """A number just below a threshold is rounded up to it."""
    wide = x.shape.element_type
    if not wide.is_floating or not is_ordered_by_rounded(root, wide):
        return None
    return compare(x, convert(c, shape=x.shape), direction=root.attrs.direction)


@rule(compare(floor(x), floor(y)))
def compared_before_floor(x, y, root):
    """Different numbers have one floor."""
    if root.attrs.type == "TOTALORDER":
        return None
    return compare(x, y, direction=root.attrs.direction)


@rule(convert(x))
def truncated_bits(x, root):
    """The upper half of a float's bits, not rounded."""
    if x.shape.element_type is not F32 or root.shape.element_type is not BF16:
        return None
    upper = shift_right_logical(bitcast_convert(x, shape=x.shape.with_type(U32)), 16)
    half = convert(upper, shape=x.shape.with_type(U16))
    return bitcast_convert(half, shape=root.shape)


@rule(convert(x))
def clamped_to_eight_bits(x, root):
    """A number that is too large becomes NaN in this type, not the largest number."""
    if x.shape.element_type is not F32 or root.shape.element_type is not F8E4M3FN:
        return None
    return convert(minimum(maximum(x, -448.0), 448.0), shape=root.shape)


@rule(convert(round_nearest_even(x)))
def truncated_for_rounded(x, root):
    """A conversion to integers rounds toward zero."""
    return convert(x, shape=root.shape) if root.shape.element_type.is_integer else None


@rule(reduce_precision(x))
def reduced_by_half(x, root):
    """What is below the least normal number of a format becomes 0 there."""
    format_ = root.attrs.exponent_bits, root.attrs.mantissa_bits
    if x.shape.element_type is not F32 or format_ != (5, 10):
        return None
    return convert(convert(x, shape=x.shape.with_type(F16)), shape=x.shape)


FLOATING = is_floating(x)
# fmt: off
RULES = [
    # Comparisons with NaN are false, and zeros are equal.
    Rule(select(greater(x, y), x, y), maximum(x, y), name="the greater is the maximum"),
    Rule(select(less(x, y), x, y), minimum(x, y), name="the lesser is the minimum"),
    Rule(select(at_least(x, y), x, y), maximum(x, y), where=FLOATING, name="at least, the maximum"),
    Rule(select(at_most(x, y), x, y), minimum(x, y), where=FLOATING, name="at most, the minimum"),
    Rule(select(greater(x, y), y, x), minimum(x, y), name="the one that is not greater"),
    Rule(maximum(x, y), select(greater(x, y), x, y), name="the maximum is the greater"),
    Rule(minimum(x, y), select(less(x, y), x, y), name="the minimum is the lesser"),
    Rule(maximum(x, 0), select(greater(x, 0), x, 0), where=FLOATING, name="relu by selection"),
    Rule(select(greater(x, 0), x, 0), maximum(x, 0), where=FLOATING, name="relu by maximum"),
    Rule(select(equal(x, y), x, y), y, name="equals are the same"),
    Rule(select(unequal(x, y), x, y), x, name="unequals or the same"),
    Rule(select(equal(x, 0), 0.0, x), x, where=FLOATING, name="zero is zero"),
    Rule(abs_(x), select(greater(x, 0), x, negate(x)), where=FLOATING, name="abs of 0 is -0"),
    Rule(abs_(x), select(at_least(x, 0), x, negate(x)), where=FLOATING, name="abs of -0 is -0"),
    Rule(abs_(x), select(less(x, 0), negate(x), x), where=FLOATING, name="-0 is not less than 0"),
    Rule(select(less(x, 0), negate(x), x), abs_(x), where=FLOATING, name="abs by selection"),
    Rule(sign(x), select(greater(x, 0), 1.0, -1.0), where=FLOATING, name="no sign of zero"),
    Rule(not_(greater(x, y)), at_most(x, y), name="not greater, of NaN"),
    Rule(not_(at_least(x, y)), less(x, y), name="not at least, of NaN"),
    Rule(not_(at_most(x, y)), greater(x, y), name="not at most, of NaN"),
    Rule(equal(x, x), 1, name="x = x, of NaN"),
    Rule(unequal(x, x), 0, where=FLOATING, name="x != x never"),
    Rule(at_least(x, x), 1, where=FLOATING, name="x >= x, of NaN"),
    Rule(unequal(x, y), or_(less(x, y), greater(x, y)), where=FLOATING, name="unequal is less or greater"),
    Rule(at_least(abs_(x), 0), 1, where=FLOATING, name="abs is at least 0, of NaN"),
    Rule(at_least(multiply(x, x), 0), 1, where=FLOATING, name="squares are at least 0, of NaN"),
    Rule(less(x, y), less(subtract(x, y), 0), where=FLOATING, name="order by difference"),
    Rule(equal(x, y), equal(subtract(x, y), 0), where=FLOATING, name="equal by difference"),
    Rule(less(multiply(x, 2), multiply(y, 2)), less(x, y), where=FLOATING, name="doubles overflow"),
    Rule(is_finite(x), equal(x, x), name="only NaN is not finite"),
    Rule(is_finite(x), unequal(abs_(x), inf), name="only infinities are not finite"),
    Rule(and_(equal(x, x), equal(y, y)), equal(x, y), where=FLOATING, name="ordered is equal"),
    Rule(maximum(x, minimum(x, y)), x, name="absorption by maximum, of NaN"),
    Rule(minimum(x, maximum(x, y)), x, where=FLOATING, name="absorption by minimum, of NaN"),
    Rule(maximum(x, inf), inf, name="nothing exceeds infinity"),
    Rule(minimum(x, -inf), -inf, name="nothing is below -infinity"),
    Rule(at_most(x, inf), 1, name="at most infinity"),
    Rule(clamp(x, y, z), maximum(minimum(y, z), x), where=FLOATING, name="clamp from above first"),
    # The sign of zero.
    Rule(subtract(0, x), negate(x), where=FLOATING, name="0 - x => -x"),
    Rule(negate(x), subtract(0, x), where=FLOATING, name="-x => 0 - x"),
    Rule(subtract(x, -0.0), x, where=FLOATING, name="x - -0 => x"),
    Rule(negate(add(x, y)), subtract(negate(x), y), where=FLOATING, name="-(x + y) => -x - y"),
    Rule(add(x, negate(x)), 0, where=FLOATING, name="x + -x => 0"),
    Rule(multiply(x, 0), 0, where=FLOATING, promise=ZERO_SIGN, name="x * 0 => 0, but for its sign"),
    Rule(divide(0, x), 0, where=FLOATING, promise=ZERO_SIGN, name="0 / x => 0"),
    Rule(divide(x, x), 1, where=FLOATING, promise=ZERO_SIGN, name="x / x => 1, but for the sign"),
    Rule(atan2(x, x), 0.7853982, where=FLOATING, promise=ROUNDING, name="atan2(x, x) is an eighth"),
    Rule(power(x, 0.5), sqrt(x), where=FLOATING, name="power(x, 0.5) => sqrt(x)"),
    Rule(sqrt(x), power(x, 0.5), where=FLOATING, name="sqrt(x) => power(x, 0.5)"),
    Rule(power(x, y), exponential(multiply(y, log(x))), where=FLOATING, promise=ZERO_SIGN, name="power of negatives"),
    Rule(floor(x), subtract(ceil(x), 1), where=FLOATING, name="floor of whole numbers"),
    Rule(ceil(x), add(floor(x), 1), where=FLOATING, name="ceil of whole numbers"),
    Rule(ceil(x), floor(add(x, 1)), where=FLOATING, name="ceil by the next floor"),
    Rule(round_nearest_even(x), floor(add(x, 0.5)), where=FLOATING, name="round by floor"),
    Rule(round_nearest_afz(x), floor(add(x, 0.5)), where=FLOATING, name="round away by floor"),
    Rule(round_nearest_even(x), round_nearest_afz(x), name="halves away from zero"),
    Rule(round_nearest_afz(x), round_nearest_even(x), name="halves to even"),
    Rule(remainder(x, y), subtract(x, multiply(floor(divide(x, y)), y)), where=FLOATING, promise=FINITE,
         name="remainder by floor"),
    Rule(remainder(x, 1), subtract(x, floor(x)), where=FLOATING, promise=FINITE, name="fraction of negatives"),
    Rule(multiply(x, 1), x, where=is_complex(x), name="complex infinity times 1"),
    Rule(add(x, 0), x, where=is_complex(x), name="complex -0 plus 0"),
    # Digits that get lost.
    Rule(log_plus_one(x), log(add(x, 1)), promise=ROUNDING, name="log(1 + x) near 0"),
    Rule(exponential_minus_one(x), subtract(exponential(x), 1), promise=ROUNDING, name="exp(x) - 1 near 0"),
    Rule(sinh(x), multiply(subtract(exponential(x), exponential(negate(x))), 0.5), where=FLOATING,
         promise=ROUNDING, name="sinh near 0"),
    Rule(tanh(x), divide(subtract(exponential(add(x, x)), 1), add(exponential(add(x, x)), 1)),
         where=FLOATING, promise=ROUNDING, name="tanh near 0"),
    Rule(tanh(x), subtract(multiply(logistic(multiply(x, 2)), 2), 1), where=FLOATING,
         promise=ROUNDING, name="tanh by logistic"),
    Rule(logistic(x), add(multiply(tanh(multiply(x, 0.5)), 0.5), 0.5), where=FLOATING,
         promise=ROUNDING, name="logistic far below 0"),
    Rule(sqrt(multiply(x, x)), abs_(x), where=FLOATING, promise=ROUNDING, name="squares underflow"),
    Rule(abs_(complex_(x, y)), sqrt(add(multiply(x, x), multiply(y, y))), promise=ROUNDING,
         name="hypot underflows"),
    Rule(divide(multiply(x, y), y), x, where=FLOATING, promise=ROUNDING, name="products underflow"),
    Rule(divide(divide(x, y), z), divide(x, multiply(y, z)), where=FLOATING, promise=ROUNDING,
         name="divisors overflow"),
    Rule(divide(x, c), multiply(x, 1 / c), where=FLOATING, promise=ZERO_SIGN, name="reciprocal, but for zeros"),
    Rule(cosh(x), exponential(abs_(x)), promise=ROUNDING, where=FLOATING, name="half of cosh"),
    Rule(real(complex_(x, y)), add(x, multiply(y, 0)), name="a part that sees the other"),
    Rule(add(a, multiply(b, 0)), a, where=is_floating(a), name="a product with 0 added"),
    # Products that underflow, or whose factors do.
    Rule(multiply(multiply(x, y), z), multiply(x, multiply(y, z)), where=FLOATING, promise=ROUNDING,
         name="factors underflow"),
    Rule(multiply(multiply(x, c1), c2), multiply(x, c1 * c2), where=FLOATING, promise=ROUNDING,
         name="constant factors underflow"),
    Rule(multiply(sqrt(abs_(x)), sqrt(abs_(y))), sqrt(abs_(multiply(x, y))), where=FLOATING,
         promise=ROUNDING, name="root of a product"),
    Rule(exponential(add(x, y)), multiply(exponential(x), exponential(y)), where=FLOATING,
         promise=ROUNDING, name="one of two exponentials underflows"),
    Rule(divide(multiply(x, y), z), multiply(x, divide(y, z)), where=FLOATING, promise=ROUNDING,
         name="quotient first"),
    Rule(divide(x, divide(y, z)), divide(multiply(x, z), y), where=FLOATING, promise=ROUNDING,
         name="quotient of a quotient"),
    Rule(cbrt(multiply(x, multiply(x, x))), x, where=FLOATING, promise=ROUNDING, name="root of a cube"),
    # Zeros beside infinities and NaN.
    Rule(multiply(x, select(p, 1, 0)), select(p, x, 0), where=FLOATING, promise=ZERO_SIGN,
         name="infinities masked by a product"),
    Rule(multiply(select(p, x, 0), y), select(p, multiply(x, y), 0), where=FLOATING, promise=ZERO_SIGN,
         name="masked factor"),
    Rule(add(multiply(x, c), multiply(y, 0)), multiply(x, c), where=FLOATING, promise=ZERO_SIGN,
         name="a term of zeros"),
    Rule(select(is_finite(x), x, 0), select(equal(x, x), x, 0), where=FLOATING, name="infinities let through"),
    Rule(is_finite(multiply(x, y)), and_(is_finite(x), is_finite(y)), where=FLOATING, name="finite factors"),
    Rule(sign(multiply(x, y)), multiply(sign(x), sign(y)), where=FLOATING, name="sign of a product"),
    compared_before_rounding, compared_as_integers, threshold_before_rounding, compared_before_floor,
    truncated_bits, clamped_to_eight_bits, truncated_for_rounded, reduced_by_half,
    narrowed_once, there_and_back, saturated_once, equal_bits, order_of_bits, floor_by_integer,
    partial_for_total, total_for_partial, out_of_range_and_back,
]
# fmt: on
