"""Rules whose left side is an elementwise operation with one operand, and of complex parts."""

from __future__ import annotations

from interpreter.numbers.compare import LOSSY, MAGNITUDE
from optimizer.number_guards import has_negatives, has_whole_ends, is_non_negative
from optimizer.rewriting.guards import is_complex, is_floating, is_integer, is_wide_float, one_use
from optimizer.rewriting.pattern import (
    a,
    abs_,
    add,
    c,
    ceil,
    compare,
    complex_,
    convert,
    cosine,
    exponential,
    floor,
    imag,
    is_finite,
    log,
    multiply,
    negate,
    not_,
    one_of,
    power,
    real,
    round_nearest_afz,
    round_nearest_even,
    rsqrt,
    select,
    sign,
    sqrt,
    subtract,
    x,
    y,
)
from optimizer.rewriting.rule import Rule

rounded = one_of(floor, ceil, round_nearest_afz, round_nearest_even)

# fmt: off
RULES = (
    Rule(negate(negate(x)), x, where=has_negatives(x), xla="-(-A) => A"),
    Rule(negate(not_(x)), add(x, 1), where=is_integer(x)),
    # 0 - 0 is +0 both ways round, and -(+0) is -0.
    Rule(negate(subtract(x, y)), subtract(y, x), where=is_integer(x)),
    Rule(negate(add(x, c)), subtract(-c, x), where=is_integer(x)),
    Rule(negate(multiply(x, c).as_(a)), multiply(x, -c),
         where=one_use(a) & ~is_complex(x) & has_negatives(x)),
    Rule(abs_(abs_(x).as_(a)), a),
    Rule(abs_(negate(x)), abs_(x), where=has_negatives(x)),
    Rule(abs_(x), x, where=is_non_negative(x), xla="|A| => A, if A is not negative"),
    Rule(sign(sign(x).as_(a)), a, where=~is_complex(x)),
    # The largest f6e2m3fn is 7.5, to which 8 is rounded.
    Rule(rounded(rounded(x).as_(a)), a, where=has_whole_ends(a)),
    Rule(rounded(convert(x).as_(a)), a, where=is_integer(x) & has_whole_ends(a)),
    Rule(rounded(sign(x).as_(a)), a),
    Rule(cosine(negate(x)), cosine(x), where=is_floating(x) & has_negatives(x)),
    Rule(cosine(abs_(x)), cosine(x), where=is_floating(x)),
    Rule(is_finite(negate(x)), is_finite(x), where=has_negatives(x)),
    Rule(is_finite(abs_(x)), is_finite(x), where=is_floating(x)),
    # Of a small number exp(A) keeps few digits.
    Rule(log(exponential(x)), x, where=is_wide_float(x), promise=LOSSY, xla="ln(exp(A)) => A",
         witness={"x": 1e-5}),
    # Anything to the power of 0 is 1, so that y = 0 needs no logarithm of x.
    Rule(log(power(x, y)), select(compare(y, 0, "EQ"), 0, multiply(log(abs_(x)), y)),
         where=is_wide_float(x), promise=MAGNITUDE, xla="ln(pow(A, B)) => B * ln(|A|)",
         witness={"x": 1.0000001, "y": 0.6}),
    # Near 1 a root keeps few digits of the logarithm.
    Rule(log(sqrt(x)), multiply(log(x), 0.5), where=is_wide_float(x), promise=MAGNITUDE,
         xla="ln(sqrt(A)) => 0.5 * ln(A)", witness={"x": 1.0000004}),
    Rule(log(rsqrt(x)), multiply(log(x), -0.5), where=is_wide_float(x), promise=MAGNITUDE,
         xla="ln(rsqrt(A)) => -0.5 * ln(A)", witness={"x": 0.9999999}),
    # Exact where the square is neither too large nor too small.
    Rule(sqrt(multiply(x, x)), abs_(x), where=is_wide_float(x), promise=MAGNITUDE,
         xla="sqrt(A * A) => |A|", witness={"x": 2.8e-23}),
    Rule(real(complex_(x, y)), x, xla="real(complex(r, i)) => r"),
    Rule(imag(complex_(x, y)), y, xla="imag(complex(r, i)) => i"),
    Rule(complex_(real(x), imag(x)), x, where=is_complex(x), xla="complex(real(c), imag(c)) => c"),
    Rule(real(x), x, where=is_floating(x), xla="real(A) => A, if A is real"),
    Rule(imag(x), 0, where=is_floating(x), xla="imag(A) => 0, if A is real"),
)
# fmt: on
