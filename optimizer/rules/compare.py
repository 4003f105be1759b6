"""Rules whose left side is a comparison.

NaN is neither less than, equal to, nor greater than anything; it is just unequal. In comparisons of
type TOTALORDER it has a place like any number, and -0 is less than +0: most rules leave those be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from optimizer.number_guards import (
    conversion_is_exact,
    has_negatives,
    is_highest,
    is_lowest,
    is_non_negative,
    is_usual,
)
from optimizer.rewriting.guard import guard
from optimizer.rewriting.guards import (
    is_complex,
    is_constant,
    is_floating,
    is_integer,
    same_type,
)
from optimizer.rewriting.make import value_of
from optimizer.rewriting.pattern import (
    a,
    abs_,
    add,
    b,
    c,
    c1,
    c2,
    compare,
    convert,
    maximum,
    minimum,
    negate,
    not_,
    p,
    q,
    subtract,
    x,
    xor,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule
from optimizer.rules import compare_choice

if TYPE_CHECKING:
    from hlo.instruction import Instruction

SWAPPED: Final = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}


@guard
def is_equality(p: str) -> bool:
    """Equal or unequal."""
    return p in ("EQ", "NE")


@guard
def is_one_of(p: str, *directions: str) -> bool:
    """A comparison in one of some directions."""
    return p in directions


@guard
def is_nan(c: Instruction) -> bool:
    """A constant that is NaN everywhere."""
    value = value_of(c)
    return value is not None and bool(value.size) and bool((value != value).all())


@guard
def is_finite_order(x: Instruction, q: str) -> bool:
    """A comparison in which everything equals itself: of integers and preds, or in total order."""
    return x.shape.element_type.kind in ("pred", "signed", "unsigned") or q == "TOTALORDER"


@rule(
    compare(c, x, p, q),
    where=~is_constant(x),
    xla="HandleCompare: compare(Const, A) => compare(A, Const)",
)
def comparison_with_constant_first(c: Instruction, x: Instruction, p: str, q: str) -> Instruction:
    """Put the constant second."""
    return compare(x, c, SWAPPED[p], q)


@rule(
    compare(negate(x), negate(y), p, q),
    where=is_floating(x) & has_negatives(x) & is_usual(q),
    xla="LLVM, InstCombine",
)
def comparison_of_opposites(x: Instruction, y: Instruction, p: str, q: str) -> Instruction:
    """Floats are ordered the other way round than their opposites; INT_MIN is its own opposite."""
    return compare(y, x, p, q)


# fmt: off
RULES = (
    Rule(compare(x, x, p, q), 1, where=is_one_of(p, "EQ", "GE", "LE") & is_finite_order(x, q),
         xla="compare(A, A, EQ) => true, for integers", name="equal to itself"),
    Rule(compare(x, x, p, q), 0, where=is_one_of(p, "NE") & is_finite_order(x, q),
         xla="compare(A, A, NE) => false, for integers", name="unequal to itself"),
    Rule(compare(x, x, p), 0, where=is_one_of(p, "LT", "GT"),
         xla="compare(A, A, LT) => false", name="less than itself"),
    comparison_with_constant_first,
    *compare_choice.RULES,
    comparison_of_opposites,
    Rule(compare(x, c, "LT", q), 0, where=is_lowest(c) & is_usual(q), xla="u < 0 => false",
         name="less than the lowest"),
    Rule(compare(x, c, "GE"), 1, where=is_lowest(c) & ~is_floating(c), xla="u >= 0 => true",
         name="at least the lowest"),
    Rule(compare(x, c, "LE"), compare(x, c, "EQ"), where=is_lowest(c) & is_integer(c),
         name="at most the lowest => equal"),
    Rule(compare(x, c, "GT"), compare(x, c, "NE"), where=is_lowest(c) & is_integer(c),
         name="greater than the lowest => unequal"),
    Rule(compare(x, c, "GT", q), 0, where=is_highest(c) & is_usual(q),
         name="greater than the highest"),
    Rule(compare(x, c, "LE"), 1, where=is_highest(c) & ~is_floating(c),
         name="at most the highest"),
    Rule(compare(x, c, "GE"), compare(x, c, "EQ"), where=is_highest(c) & is_integer(c),
         name="at least the highest => equal"),
    Rule(compare(x, c, "LT"), compare(x, c, "NE"), where=is_highest(c) & is_integer(c),
         name="less than the highest => unequal"),
    Rule(compare(x, c, "NE", q), 1, where=is_nan(c) & is_usual(q) & ~is_complex(c),
         name="unequal to NaN"),
    Rule(compare(x, c, p, q), 0, where=is_nan(c) & is_usual(q) & ~is_one_of(p, "NE")
         & ~is_complex(c), name="compared with NaN"),
    Rule(compare(x, 0, "LT", q), 0, where=is_non_negative(x) & is_usual(q),
         name="less than 0, though not negative"),
    Rule(compare(abs_(x).as_(a), 0, p, q), compare(x, 0, p), name="absolute value equal to 0",
         where=is_equality(p) & is_usual(q) & same_type(x, a)),
    Rule(compare(negate(x), 0, p, q), compare(x, 0, p), name="opposite equal to 0",
         where=is_equality(p) & is_usual(q) & has_negatives(x)),
    # Both sides shifted by the same: that keeps equality, and order only if nothing wraps around.
    Rule(compare(add(x, c1), c2, p), compare(x, c2 - c1, p), where=is_equality(p) & is_integer(x)),
    Rule(compare(subtract(c1, x), c2, p), compare(x, c1 - c2, p),
         where=is_equality(p) & is_integer(x)),
    Rule(compare(xor(x, c1), c2, p), compare(x, c1 ^ c2, p), where=is_equality(p) & is_integer(x)),
    Rule(compare(not_(x), c, p), compare(x, -1 - c, p), where=is_equality(p) & is_integer(x)),
    Rule(compare(subtract(x, y), 0, p), compare(x, y, p), where=is_equality(p) & is_integer(x)),
    Rule(compare(xor(x, y), 0, p), compare(x, y, p), where=is_equality(p) & is_integer(x)),
    Rule(compare(add(x, z), add(y, z), p), compare(x, y, p), where=is_equality(p) & is_integer(x)),
    Rule(compare(add(x, y), x, p), compare(y, 0, p), where=is_equality(p) & is_integer(x)),
    Rule(compare(convert(x).as_(a), convert(y).as_(b), p, q), compare(x, y, p),
         where=same_type(x, y) & conversion_is_exact(x, a) & is_usual(q),
         name="comparison of converted"),
    Rule(compare(maximum(x, y), x, "GT", q), compare(y, x, "GT"), where=is_usual(q),
         xla="Gt(Max(a, b), a) => Gt(b, a)"),
    Rule(compare(maximum(x, y), x, "LE", q), compare(y, x, "LE"), where=is_usual(q)),
    Rule(compare(maximum(x, y), x, "LT", q), 0, where=is_usual(q)),
    Rule(compare(maximum(x, y), x, "GE"), 1, where=is_integer(x)),
    Rule(compare(maximum(x, y), x, "EQ", q), compare(x, y, "GE"), where=is_usual(q)),
    Rule(compare(maximum(x, y), x, "NE"), compare(x, y, "LT"), where=is_integer(x)),
    Rule(compare(minimum(x, y), x, "LT", q), compare(y, x, "LT"), where=is_usual(q)),
    Rule(compare(minimum(x, y), x, "GE", q), compare(y, x, "GE"), where=is_usual(q)),
    Rule(compare(minimum(x, y), x, "GT", q), 0, where=is_usual(q)),
    Rule(compare(minimum(x, y), x, "LE"), 1, where=is_integer(x)),
    Rule(compare(minimum(x, y), x, "EQ", q), compare(x, y, "LE"), where=is_usual(q)),
    Rule(compare(minimum(x, y), x, "NE"), compare(x, y, "GT"), where=is_integer(x)),
)
# fmt: on
