"""Rules whose left side is a maximum, a minimum, or a clamp.

The maximum of NaN and anything is NaN, and that of -0 and +0 is +0; so what holds for a lattice
holds here too, except where one side drops an operand that may be NaN.
"""

from __future__ import annotations

from optimizer.number_guards import ascend, has_negatives, is_highest, is_lowest, is_non_negative
from optimizer.rewriting.guards import (
    is_complex,
    is_constant,
    is_floating,
    is_integer,
    is_pred,
    is_unsigned,
    same_shape,
)
from optimizer.rewriting.pattern import (
    a,
    abs_,
    b,
    c,
    c1,
    c2,
    clamp,
    maximum,
    minimum,
    negate,
    x,
    y,
)
from optimizer.rewriting.rule import Rule
from optimizer.rewriting.term import Folded

# fmt: off
RULES = (
    Rule(maximum(x, x), x, xla="max(x, x) => x"),
    Rule(maximum(x, c), x, where=is_lowest(c), xla="max(x, -inf) => x"),
    Rule(maximum(x, c), c, where=is_highest(c) & ~is_floating(c), xla="max(x, INT_MAX) => INT_MAX",
         name="maximum with the highest integer"),
    Rule(maximum(c, x).in_order(), maximum(x, c), where=~is_constant(x)),
    Rule(maximum(x, 0), x, where=is_non_negative(x)),
    Rule(maximum(x, maximum(x, y).as_(a)), a, xla="max(max(x, y), x) => max(x, y)"),
    Rule(maximum(x, minimum(x, y)), x, where=is_integer(x) | is_pred(x)),
    Rule(maximum(maximum(x, c1), c2), maximum(x, Folded("maximum", (c1, c2)))),
    Rule(maximum(x, abs_(x).as_(a)), a, where=same_shape(a, x)),
    Rule(maximum(x, negate(x)), abs_(x), where=~is_unsigned(x) & ~is_complex(x) & has_negatives(x)),
    Rule(maximum(minimum(x, c2), c1), clamp(c1, x, c2), where=ascend(c1, c2),
         xla="max(min(x, b), a) => clamp(a, x, b)"),
    Rule(minimum(x, x), x, xla="min(x, x) => x"),
    Rule(minimum(x, c), x, where=is_highest(c), xla="min(x, inf) => x"),
    Rule(minimum(x, c), c, where=is_lowest(c) & ~is_floating(c), xla="min(x, INT_MIN) => INT_MIN",
         name="minimum with the lowest integer"),
    Rule(minimum(c, x).in_order(), minimum(x, c), where=~is_constant(x)),
    Rule(minimum(x, minimum(x, y).as_(a)), a, xla="min(min(x, y), x) => min(x, y)"),
    Rule(minimum(x, maximum(x, y)), x, where=is_integer(x) | is_pred(x)),
    Rule(minimum(minimum(x, c1), c2), minimum(x, Folded("minimum", (c1, c2)))),
    Rule(minimum(x, abs_(x)), x, where=is_floating(x)),
    Rule(minimum(maximum(x, c1), c2), clamp(c1, x, c2), where=ascend(c1, c2),
         xla="min(max(x, a), b) => clamp(a, x, b)"),
    Rule(clamp(x, clamp(x, y, a).as_(b), a), b,
         xla="clamp(a, clamp(a, x, b), b) => clamp(a, x, b)"),
    Rule(clamp(c1, x, c2), x, where=is_lowest(c1) & is_highest(c2), name="clamp to everything"),
    Rule(clamp(c1, x, c2), minimum(x, c2), where=is_lowest(c1) & same_shape(x, c2)),
    Rule(clamp(c1, x, c2), maximum(x, c1), where=is_highest(c2) & same_shape(x, c1)),
    Rule(clamp(x, x, y), minimum(x, y), where=same_shape(x, y)),
    Rule(clamp(x, y, x).as_(a), x, where=same_shape(a, x) & ~is_floating(x)),
)
# fmt: on
