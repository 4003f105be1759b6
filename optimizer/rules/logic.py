"""Rules whose left side is and, or, xor or not: on preds, and bit by bit on integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from optimizer.number_guards import is_all_ones
from optimizer.rewriting.guard import guard
from optimizer.rewriting.guards import is_constant, is_integer, is_pred, one_use
from optimizer.rewriting.pattern import (
    a,
    add,
    and_,
    b,
    c,
    c1,
    c2,
    compare,
    negate,
    not_,
    or_,
    p,
    q,
    subtract,
    x,
    xor,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction

OPPOSITES: Final = {"EQ": "NE", "NE": "EQ", "LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT"}


@guard
def has_opposite(x: Instruction, p: str, q: str) -> bool:
    """Comparisons whose negation is a comparison: NaN is neither less than 1, nor at least 1."""
    kind = x.shape.element_type.kind
    return p in ("EQ", "NE") or kind not in ("float", "complex") or q == "TOTALORDER"


@rule(
    not_(compare(x, y, p, q)),
    where=has_opposite(x, p, q),
    xla="LLVM, InstCombine; XLA leaves it to LLVM",
)
def not_of_comparison(x: Instruction, y: Instruction, p: str, q: str) -> Instruction:
    """Compare the other way round."""
    return compare(x, y, OPPOSITES[p], q)


# fmt: off
RULES = (
    Rule(and_(x, 1), x, where=is_pred(x), xla="A && True => A"),
    Rule(and_(x, 0), 0, xla="A && False => False"),
    Rule(and_(x, c), x, where=is_all_ones(c), name="and with all bits => A"),
    Rule(and_(x, x), x),
    Rule(and_(x, not_(x)), 0),
    Rule(and_(x, or_(x, y)), x),
    Rule(and_(x, and_(x, y).as_(a)), a),
    Rule(and_(not_(x).as_(a), not_(y).as_(b)), not_(or_(x, y)), where=one_use(a) & one_use(b)),
    Rule(and_(c, x).in_order(), and_(x, c), where=~is_constant(x)),
    Rule(and_(and_(x, c1), c2), and_(x, c1 & c2)),
    Rule(or_(x, 0), x, xla="A || False => A"),
    Rule(or_(x, 1), 1, where=is_pred(x), xla="A || True => True"),
    Rule(or_(x, c), c, where=is_all_ones(c), name="or with all bits => all bits"),
    Rule(or_(x, x), x),
    Rule(or_(x, not_(x)), 1, where=is_pred(x)),
    Rule(or_(x, and_(x, y)), x),
    Rule(or_(x, or_(x, y).as_(a)), a),
    Rule(or_(not_(x).as_(a), not_(y).as_(b)), not_(and_(x, y)), where=one_use(a) & one_use(b)),
    Rule(or_(and_(x, z).as_(a), and_(y, z).as_(b)), and_(or_(x, y), z),
         where=one_use(a) & one_use(b)),
    Rule(or_(c, x).in_order(), or_(x, c), where=~is_constant(x)),
    Rule(or_(or_(x, c1), c2), or_(x, c1 | c2)),
    Rule(xor(x, 0), x),
    Rule(xor(x, x), 0),
    Rule(xor(x, c), not_(x), where=is_all_ones(c), name="xor with all bits => not A"),
    Rule(xor(x, xor(x, y)), y),
    Rule(xor(not_(x), not_(y)), xor(x, y)),
    Rule(xor(c, x).in_order(), xor(x, c), where=~is_constant(x)),
    Rule(xor(xor(x, c1), c2), xor(x, c1 ^ c2)),
    Rule(not_(not_(x)), x, xla="Not(Not(A)) => A"),
    not_of_comparison,
    # -x is not(x) + 1, so not(x) is -1 - x.
    Rule(not_(negate(x)), add(x, -1), where=is_integer(x)),
    Rule(not_(add(x, c)), subtract(-1 - c, x), where=is_integer(x)),
    Rule(not_(subtract(c, x)), add(x, -1 - c)),
)
# fmt: on
