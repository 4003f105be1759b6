"""Rules whose left side is a shift. From a distance of the width on, all bits are shifted out."""

from __future__ import annotations

from optimizer.number_guards import is_below_width, is_beyond_width
from optimizer.rewriting.pattern import (
    and_,
    c,
    c1,
    c2,
    one_of,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    x,
)
from optimizer.rewriting.rule import Rule
from optimizer.rewriting.term import Folded

shift = one_of(shift_left, shift_right_arithmetic, shift_right_logical)
# -1, shifted there: the bits that come back from a shift there and back.
low_bits = Folded("shift-right-logical", (Folded("not", (c ^ c,)), c))
high_bits = Folded("shift-left", (Folded("not", (c ^ c,)), c))

# fmt: off
RULES = (
    Rule(shift(x, 0), x, xla="A << 0 => A"),
    Rule(shift(0, x), 0),
    Rule(shift_left(x, c), 0, where=is_beyond_width(c)),
    Rule(shift_right_logical(x, c), 0, where=is_beyond_width(c)),
    # The sum of two distances below the width may be beyond it; then all bits go, as they should.
    Rule(shift_left(shift_left(x, c1), c2), shift_left(x, c1 + c2),
         where=is_below_width(c1) & is_below_width(c2)),
    Rule(shift_right_logical(shift_right_logical(x, c1), c2), shift_right_logical(x, c1 + c2),
         where=is_below_width(c1) & is_below_width(c2)),
    Rule(shift_right_arithmetic(shift_right_arithmetic(x, c1), c2),
         shift_right_arithmetic(x, c1 + c2), where=is_below_width(c1) & is_below_width(c2)),
    Rule(shift_right_logical(shift_left(x, c), c), and_(x, low_bits)),
    Rule(shift_left(shift_right_logical(x, c), c), and_(x, high_bits)),
    Rule(shift_left(shift_right_arithmetic(x, c), c), and_(x, high_bits), where=is_below_width(c)),
)
# fmt: on
