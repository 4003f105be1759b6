"""Integer expressions are what C computes, of numbers and of arrays of them; others are nothing."""

import numpy as np
import pytest

from codegen.callees import FUNCTIONS
from codegen.evaluation import evaluated
from codegen.expressions import Apply, Cast, Choose, Group, Literal, Load, Name, Op, binary, indexed
from hlo.types.element_type import F32
from optimizer.analysis.indexing import counter

LANES = np.arange(32)


@pytest.mark.parametrize(
    ("expr", "want"),
    [
        (Name("i") * 4 + 1, LANES * 4 + 1),
        (indexed(counter("i", 32) // 5 * 3 + counter("i", 32) % 5), LANES // 5 * 3 + LANES % 5),
        (Group(Name("i") ^ Literal(3)) >> 1, (LANES ^ 3) >> 1),
        (binary("&&", binary("<", Name("i"), 9), binary("!=", Name("i"), 2)), LANES < 9),
        (Cast("s8", Name("i") * 9), (LANES * 9).astype(np.int8)),
        (Op("-", (Name("i") / 4,)), -(LANES // 4)),
        (Apply(FUNCTIONS["twice"], (Name("i"),)), LANES * 2),
    ],
)
def test_values_of_lanes(expr, want):
    want = np.where(LANES == 2, 0, want) if want.dtype == bool else want
    functions = {FUNCTIONS["twice"]: lambda x: x * 2}
    assert np.array_equal(evaluated(expr, {"i": LANES}, functions), want)
    assert all(evaluated(expr, {"i": n}, functions) == want[n] for n in range(32))


@pytest.mark.parametrize(
    "expr",
    [
        Name("other"),
        Load(Name("i"), Literal(0)),
        Literal(1.0, "f32"),
        Apply(FUNCTIONS["exp", F32], (Name("i"),)),
        Choose(Name("i"), Name("i"), Name("i")),
        Op("/", (Name("i") - 9, Literal(4))),  # C rounds up what Python rounds down
        Op("%", (Name("i"), Name("i"))),
    ],
)
def test_what_is_no_known_integer(expr):
    with pytest.raises(LookupError):
        evaluated(expr, {"i": np.arange(8)})
