"""Wrong rules about integers: they wrap around at the ends of their type."""

from strategies.wrong.floats import at_least, at_most, equal, greater, less, unequal

from optimizer.rewriting.guards import is_integer, is_signed, is_unsigned
from optimizer.rewriting.pattern import (
    abs_,
    add,
    and_,
    c,
    c1,
    c2,
    clamp,
    convert,
    divide,
    maximum,
    minimum,
    multiply,
    negate,
    not_,
    or_,
    popcnt,
    remainder,
    select,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    sign,
    subtract,
    x,
    y,
    z,
)  # fmt: skip
from optimizer.rewriting.rule import Rule, rule


@rule(convert(convert(x)))
def widened_once(x, root):
    """What is unsigned in between has lost its sign, and the other way round."""
    first, middle, last = (s.element_type for s in (x.shape, root.operands[0].shape, root.shape))
    whole = first.is_integer and middle.is_integer and last.is_integer
    other = first.bits == middle.bits < last.bits and first.kind != middle.kind
    return convert(x, shape=root.shape) if whole and other else None


@rule(convert(convert(x)))
def widened_and_back(x, root):
    """Bits that do not fit into the type in between are gone."""
    middle = root.operands[0].shape.element_type
    fits = x.shape == root.shape and x.shape.element_type.is_integer and middle.is_integer
    return x if fits else None


INTEGER, SIGNED, UNSIGNED = is_integer(x), is_signed(x), is_unsigned(x)
# fmt: off
RULES = [
    Rule(less(x, c), at_most(x, c - 1), where=INTEGER, name="less is at most one less"),
    Rule(greater(x, c), at_least(x, c + 1), where=INTEGER, name="greater is at least one more"),
    Rule(at_most(x, c), less(x, c + 1), where=INTEGER, name="at most is less than one more"),
    Rule(at_least(x, c), greater(x, c - 1), where=INTEGER, name="at least is more than one less"),
    Rule(less(x, c), at_most(x, c - 1), where=SIGNED, name="less, of signed"),
    Rule(less(x, c), at_most(x, c - 1), where=UNSIGNED, name="less, of unsigned"),
    Rule(less(x, add(y, 1)), at_most(x, y), where=INTEGER, name="less than the next"),
    Rule(less(add(x, c1), c2), less(x, c2 - c1), where=INTEGER, name="constant to the other side"),
    Rule(less(add(x, z), add(y, z)), less(x, y), where=INTEGER, name="the same on both sides"),
    Rule(less(subtract(x, y), 0), less(x, y), where=SIGNED, name="difference below 0"),
    Rule(greater(subtract(x, y), 0), greater(x, y), where=UNSIGNED, name="unsigned difference above 0"),
    Rule(less(negate(x), negate(y)), greater(x, y), where=SIGNED, name="negatives in the other order"),
    Rule(greater(add(x, 1), x), 1, where=INTEGER, name="the next is greater"),
    Rule(less(subtract(x, 1), x), 1, where=INTEGER, name="the one before is less"),
    Rule(at_least(abs_(x), 0), 1, where=SIGNED, name="no abs is negative"),
    Rule(at_least(multiply(x, x), 0), 1, where=SIGNED, name="no square is negative"),
    Rule(equal(multiply(x, y), 0), or_(equal(x, 0), equal(y, 0)), where=INTEGER, name="zero divisors"),
    Rule(unequal(multiply(x, 2), multiply(y, 2)), unequal(x, y), where=INTEGER, name="doubles of different numbers"),
    Rule(divide(multiply(x, c), c), x, where=INTEGER, name="x * c / c"),
    Rule(multiply(divide(x, c), c), x, where=INTEGER, name="x / c * c"),
    Rule(divide(divide(x, c1), c2), divide(x, c1 * c2), where=INTEGER, name="product of divisors"),
    Rule(divide(negate(x), negate(y)), divide(x, y), where=SIGNED, name="both signs"),
    Rule(divide(negate(x), y), negate(divide(x, y)), where=INTEGER, name="sign of a quotient"),
    Rule(remainder(negate(x), y), negate(remainder(x, y)), where=UNSIGNED, name="sign of a remainder"),
    Rule(divide(add(x, y), 2), add(divide(x, 2), divide(y, 2)), where=INTEGER, name="halves of a sum"),
    Rule(divide(x, 0), 0, where=INTEGER, name="x / 0 is not 0"),
    Rule(remainder(x, 0), 0, where=INTEGER, name="x % 0 is not 0"),
    Rule(abs_(subtract(x, y)), subtract(maximum(x, y), minimum(x, y)), where=SIGNED, name="distance"),
    Rule(subtract(maximum(x, y), minimum(x, y)), abs_(subtract(x, y)), where=UNSIGNED, name="unsigned distance"),
    Rule(not_(x), negate(x), where=INTEGER, name="not is no negation"),
    Rule(or_(x, 1), add(x, 1), where=INTEGER, name="odd numbers"),
    Rule(and_(x, c), remainder(x, c + 1), where=UNSIGNED, name="mask as remainder"),
    Rule(shift_right_arithmetic(shift_left(x, c), c), x, where=INTEGER, name="left and right"),
    Rule(shift_left(shift_right_logical(x, c), c), x, where=INTEGER, name="right and left"),
    Rule(shift_right_logical(shift_right_logical(x, c1), c2), shift_right_logical(x, c1 + c2),
         where=INTEGER, name="right shifts past the width"),
    Rule(shift_right_logical(x, y), shift_right_arithmetic(x, y), where=SIGNED, name="bits of negatives"),
    Rule(shift_right_arithmetic(x, y), shift_right_logical(x, y), where=INTEGER, name="sign shifted out"),
    Rule(popcnt(negate(x)), popcnt(x), where=INTEGER, name="bits of a negative"),
    Rule(clamp(x, y, z), maximum(minimum(y, z), x), where=INTEGER, name="bounds in the other order"),
    Rule(select(less(x, 0), -1, 1), sign(x), where=SIGNED, name="sign of 0 is 1"),
    Rule(equal(negate(x), x), equal(x, 0), where=SIGNED, name="only 0 is its own negative"),
    Rule(equal(and_(x, subtract(x, 1)), 0), equal(popcnt(x), 1), where=INTEGER, name="0 is no power of two"),
    Rule(divide(x, 2), shift_right_arithmetic(x, 1), where=SIGNED, name="half of -1"),
    Rule(remainder(x, 2), and_(x, 1), where=SIGNED, name="odd negatives"),
    Rule(remainder(add(x, c), c), remainder(x, c), where=INTEGER, name="remainder after a turn"),
    Rule(maximum(add(x, c), add(y, c)), add(maximum(x, y), c), where=INTEGER, name="maximum of moved"),
    Rule(sign(multiply(x, y)), multiply(sign(x), sign(y)), where=SIGNED, name="sign of an overflow"),
    widened_once,
    widened_and_back,
]
# fmt: on
