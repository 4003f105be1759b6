"""What copies pairs out of rows a power of two apart runs in no lanes, and gives the same."""

import numpy as np
import pytest
from written import For

import emit_c
import hlo
import interpreter
from codegen.expressions import Name, item
from codegen.statements import Assign
from emit_c.kernels.copy_far_pairs import copy_far_pairs
from optimizer.analysis.indexing import counter


def copy(stride: int, count: int, *, computed: bool = False) -> For:
    """A loop in lanes over rows so far apart, of each of which it copies so many numbers."""
    i = counter("i", 64)
    loads = [item(Name("x"), i * stride + k) for k in range(count)]
    values = [load + load for load in loads] if computed else loads
    targets = [item(Name("y"), i * count + k) for k in range(count)]
    return For("i", 64, tuple(map(Assign, targets, values)), simd=True)


@pytest.mark.parametrize(
    ("loop", "in_lanes"),
    [
        (copy(128, 2), False),
        (copy(32, 3), False),
        (copy(128, 1), True),
        (copy(128, 4), True),
        (copy(100, 2), True),
        (copy(16, 2), True),
        (copy(128, 2, computed=True), True),
    ],
    ids=["pairs", "triples", "alone", "a vector", "not a power", "near", "computed"],
)
def test_far_pairs(loop, in_lanes):
    (made,) = copy_far_pairs([loop])
    assert made.simd == in_lanes


def test_the_first_columns():
    module = hlo.parse("""HloModule columns
ENTRY e {
  x = f32[200,128] parameter(0)
  ROOT y = f32[200,3] slice(x), slice={[0:200], [0:3]}
}""")
    x = np.random.default_rng(0).standard_normal((200, 128)).astype(np.float32)
    executable = emit_c.compile(module, optimize=False)
    assert np.array_equal(executable(x), interpreter.evaluate(module, x))
    assert "#pragma omp simd" not in executable.source
