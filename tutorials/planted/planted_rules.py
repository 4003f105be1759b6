"""Wrong rules, as somebody might write them: most have been in some compiler."""

from dataclasses import replace

from hlo.types.values import PaddingDim, SliceDim
from interpreter.numbers.compare import FINITE, ROUNDING, ZERO_SIGN
from optimizer.rewriting.guards import is_floating, is_integer, is_signed, is_unsigned
from optimizer.rewriting.pattern import (
    a,
    abs_,
    add,
    and_,
    broadcast,
    c,
    c1,
    c2,
    clamp,
    compare,
    complex_,
    concatenate,
    convert,
    divide,
    exponential,
    f,
    floor,
    log,
    maximum,
    minimum,
    multiply,
    negate,
    not_,
    or_,
    p,
    pad,
    power,
    q,
    real,
    reduce,
    reduce_precision,
    remainder,
    reshape,
    reverse,
    rsqrt,
    select,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    sign,
    slice_,
    sqrt,
    subtract,
    transpose,
    x,
    xor,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule


@rule(transpose(transpose(x, p), q))
def swapped_permutations(x, p, q):
    return transpose(x, tuple(q[i] for i in p))


@rule(broadcast(broadcast(x, p), q))
def outer_dimensions_only(x, p, q, root):
    return broadcast(x, q[: len(p)], shape=root.shape)


@rule(reverse(reverse(x, p), q))
def reverse_twice_is_nothing(x):
    return x


@rule(slice_(x, p))
def slice_forgets_its_stride(x, p, root):
    pairs = zip(p, root.shape.dims, strict=True)
    plain = tuple(replace(d, stride=1, limit=d.start + n) for d, n in pairs)
    return slice_(x, plain) if plain != p else None


@rule(concatenate(x, y, dimensions=p))
def concatenate_in_the_other_order(x, y, p):
    return concatenate(y, x, dimensions=p)


@rule(slice_(slice_(x, p), q))
def slices_add_up_without_strides(x, p, q):
    pairs = zip(p, q, strict=True)
    added = [SliceDim(d.start + e.start, d.start + e.limit, e.stride) for d, e in pairs]
    return slice_(x, tuple(added))


@rule(pad(pad(x, y, p), y, q))
def paddings_add_up_in_the_wrong_order(x, y, p, q):
    pairs = zip(p, q, strict=True)
    return pad(
        x, y, tuple(PaddingDim(d.low + e.high, d.high + e.low, d.interior) for d, e in pairs)
    )


@rule(reduce(reduce(x, y, dimensions=p, to_apply=f), y, dimensions=q, to_apply=f))
def dimensions_not_renumbered(x, y, p, q, f):
    dims = tuple(sorted({*p, *q}))
    return reduce(x, y, dimensions=dims, to_apply=f) if len(dims) == len(p) + len(q) else None


@rule(reshape(reshape(x)).as_(a))
def as_if_transposed(x, a):
    inner = x.shape
    return (
        transpose(x, tuple(range(inner.rank))[::-1]) if inner.dims[::-1] == a.shape.dims else None
    )


RULES = [
    Rule(add(x, c), x, name="x + c => x"),
    Rule(multiply(x, 0), 0, name="x * 0 => 0, of NaN too"),
    Rule(add(x, 0), x, name="x + 0 => x, of -0 too"),
    Rule(subtract(x, x), 0, name="x - x => 0, of infinities too"),
    Rule(divide(x, x), 1, name="x / x => 1, of 0 too"),
    Rule(divide(x, x), 1, promise=FINITE, where=is_integer(x), name="x / x => 1, of integers"),
    Rule(negate(subtract(x, y)), subtract(y, x), name="-(x - y) => y - x, of equals too"),
    Rule(divide(x, c), multiply(x, 1 / c), where=is_floating(x), name="any reciprocal"),
    Rule(add(add(x, c1), c2), add(x, c1 + c2), name="sums of constants, to the bit"),
    Rule(divide(x, y), multiply(x, divide(2, y)), promise=ROUNDING, where=is_floating(x),
         name="2 / y for 1 / y"),
    Rule(subtract(x, y), subtract(y, x), promise=ROUNDING, name="operands swapped"),
    Rule(maximum(x, minimum(x, y)), y, promise=ROUNDING, name="absorption, the wrong one"),
    Rule(minimum(maximum(x, y), y), x, name="absorption of another operand"),
    Rule(multiply(x, 2), shift_left(x, 2), where=is_integer(x), name="shift by the factor"),
    Rule(divide(x, 2), shift_right_logical(x, 1), where=is_signed(x), name="shift of negatives"),
    Rule(divide(x, 2), shift_right_arithmetic(x, 1), where=is_signed(x), name="rounds down"),
    Rule(remainder(x, 4), and_(x, 3), where=is_signed(x), name="mask of negatives"),
    Rule(remainder(x, 4), and_(x, 4), where=is_unsigned(x), name="mask of one bit"),
    Rule(select(x, y, z), select(x, z, y), name="arms swapped"),
    Rule(select(not_(x), y, z), select(x, y, z), name="not forgotten"),
    Rule(compare(x, x, "LE"), 1, name="x <= x, of NaN too"),
    Rule(not_(compare(x, y, "LT")), compare(x, y, "GE"), name="not less, of NaN too"),
    Rule(clamp(x, y, z), minimum(maximum(y, z), x), name="clamp with bounds swapped"),
    Rule(clamp(x, y, z), minimum(y, z), name="clamp without the lower bound"),
    Rule(convert(convert(x)).as_(a), convert(x), name="by way of a narrower type"),
    Rule(reshape(transpose(x, p)).as_(a), reshape(x), name="reshape of a transpose"),
    Rule(and_(x, 1), x, name="x and 1 => x, of integers too"),
    Rule(or_(x, y), add(x, y), where=is_integer(x), name="or as a sum"),
    Rule(xor(x, x), x, name="x xor x => x"),
    Rule(add(x, -0.0), add(x, 0.0), name="the wrong zero"),
    Rule(sqrt(multiply(x, x)), x, promise=ROUNDING, name="root of a square of negatives"),
    Rule(power(x, 2), add(x, x), promise=ROUNDING, name="a square as a double"),
    Rule(log(exponential(x)), x, promise=FINITE, name="log of exp, without rounding"),
    Rule(rsqrt(x), sqrt(x), promise=ROUNDING, name="root for its reciprocal"),
    Rule(abs_(negate(x)), negate(abs_(x)), promise=ROUNDING, name="sign moved outwards"),
    Rule(floor(negate(x)), negate(floor(x)), promise=ZERO_SIGN, name="floor for ceil"),
    Rule(sign(x), 1, promise=FINITE, name="sign of everything is 1"),
    Rule(real(complex_(x, y)), y, promise=ROUNDING, name="imaginary for real"),
    Rule(negate(minimum(x, y)), minimum(negate(x), negate(y)), promise=ROUNDING,
         name="minimum of negatives"),
    Rule(reduce_precision(x), x, name="rounding left out"),
    Rule(shift_left(shift_left(x, c1), c2), shift_left(x, c1 + c2), name="shifts past the width"),
    Rule(multiply(add(x, y), z), add(x, multiply(y, z)), promise=ROUNDING, name="half distributed"),
    swapped_permutations,
    outer_dimensions_only,
    reverse_twice_is_nothing,
    slice_forgets_its_stride,
    concatenate_in_the_other_order,
    slices_add_up_without_strides,
    paddings_add_up_in_the_wrong_order,
    dimensions_not_renumbered,
    as_if_transposed,
]  # fmt: skip
