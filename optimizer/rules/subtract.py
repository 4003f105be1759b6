"""Rules whose left side is a subtraction.

x - 0 is x for every x: even -0 - 0 is -0. But -0 - -0 is +0. And x - x is NaN for infinities, so
what cancels may go for integers only.
"""

from __future__ import annotations

from interpreter.numbers.compare import ZERO_SIGN
from optimizer.number_guards import has_negatives, is_all_ones
from optimizer.rewriting.guards import is_integer, one_use
from optimizer.rewriting.pattern import (
    a,
    add,
    and_,
    b,
    c,
    c1,
    c2,
    multiply,
    negate,
    not_,
    or_,
    subtract,
    x,
    xor,
    y,
    z,
)
from optimizer.rewriting.rule import Rule

# fmt: off
RULES = (
    Rule(subtract(x, 0.0), x, xla="A - 0 => A"),
    Rule(subtract(x, 0), x, promise=ZERO_SIGN, xla="A - 0 => A", witness={"x": -0.0}),
    Rule(subtract(x, c), add(x, -c), where=has_negatives(x), xla="A - Const => A + (-Const)"),
    # +0 - +0 is +0, but -0 - +0 is -0.
    Rule(subtract(-0.0, x), negate(x), where=has_negatives(x)),
    Rule(subtract(c, x), not_(x), where=is_integer(x) & is_all_ones(c), name="-1 - x => not x"),
    Rule(subtract(x, negate(y)), add(x, y), where=has_negatives(x)),
    Rule(subtract(x, x), 0, where=is_integer(x), xla="A - A => 0"),
    Rule(subtract(add(x, y), x), y, where=is_integer(x), xla="(A + B) - A => B"),
    Rule(subtract(x, add(x, y)), negate(y), where=is_integer(x)),
    Rule(subtract(x, subtract(x, y)), y, where=is_integer(x), xla="A - (A - B) => B"),
    Rule(subtract(subtract(x, y), x), negate(y), where=is_integer(x)),
    Rule(subtract(add(x, z), add(y, z)), subtract(x, y), where=is_integer(x)),
    Rule(subtract(not_(x), not_(y)), subtract(y, x), where=is_integer(x)),
    Rule(subtract(c1, add(x, c2)), subtract(c1 - c2, x), where=is_integer(x)),
    Rule(subtract(c1, subtract(c2, x)), add(x, c1 - c2), where=is_integer(x)),
    Rule(subtract(c, not_(x)), add(x, c + 1), where=is_integer(x)),
    Rule(subtract(or_(x, y), and_(x, y)), xor(x, y), where=is_integer(x)),
    Rule(subtract(or_(x, y), xor(x, y)), and_(x, y), where=is_integer(x)),
    Rule(subtract(add(x, y), or_(x, y)), and_(x, y), where=is_integer(x)),
    Rule(subtract(add(x, y), and_(x, y)), or_(x, y), where=is_integer(x)),
    Rule(subtract(multiply(x, z).as_(a), multiply(y, z).as_(b)), multiply(subtract(x, y), z),
         where=is_integer(x) & one_use(a) & one_use(b)),
    Rule(subtract(x, multiply(x, c)), multiply(x, 1 - c), where=is_integer(x)),
    Rule(subtract(multiply(x, c), x), multiply(x, c - 1), where=is_integer(x)),
)
# fmt: on
