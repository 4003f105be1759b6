"""The last elements of a row, computed by a whole vector that ends with it."""

import numpy as np
import pytest
from numbered_names import Names
from written import Assign, For, If, Let, Variable

import emit_c
import hlo
import interpreter
from codegen.kinds import Pointer
from codegen.printer import text
from codegen.schedule.types import KernelTypes
from emit_c.kernels.overlap_remainders import overlap_remainders
from interpreter.numbers.compare import BITS, compare

KINDS = {name: Pointer("f32", restrict=True) for name in "xyz"}
KINDS |= {"b": Pointer("u8", restrict=True), "d": Pointer("f64", restrict=True)}
SUM = (Let("f32", "v", "x[j] + x[j + 2]"), Assign("y[i * 43 + j]", "v"))


def rows(*inside, count=43, start=0, **given):
    inner = For("j", start + count, inside, start=start, simd=True, **given)
    return For("i", 100, (inner,), parallel=True)


def overlapping(*statements):
    return overlap_remainders(Names(), statements, KernelTypes(KINDS))


def test_eleven_elements_are_left_over():
    assert (
        text(overlapping(rows(*SUM)))
        == """\
  for (s64 i = 0; i < 100; i++) {
    #pragma omp simd
    for (s64 j = 0; j < 32; j++) {
      const f32 v = x[j] + x[j + 2];
      y[i * 43 + j] = v;
    }
    #pragma omp simd
    for (s64 j = 27; j < 43; j++) {
      const f32 v_1 = x[j] + x[j + 2];
      y[i * 43 + j] = v_1;
    }
  }
"""
    )


@pytest.mark.parametrize(
    ("made", "stops"),
    [
        (rows(*SUM, start=5), [37, 48]),
        (rows(Assign("d[j]", "1.0"), count=47), [40, 47]),
    ],
    ids=["from the fifth on", "f64"],
)
def test_others(made, stops):
    (loop,) = overlapping(made)
    assert [s.stop for s in loop.body] == stops


@pytest.mark.parametrize(
    "made",
    [
        rows(*SUM, count=40),
        rows(*SUM, count=33),
        rows(*SUM, count=48),
        rows(*SUM, count=15),
        rows(*SUM, count=1003),
        rows(Assign("y[j]", "y[j] + x[j]")),
        rows(Let("f32", "v", "b[j]"), Assign("y[j]", "v")),
        rows(Assign("t", "t + x[j]"), reductions=(("+", "t"),)),
        rows(Variable("f32", "t"), If("x[j] > 0", (Assign("y[j]", "t"),), ())),
        rows(Assign("y[j]", "exp_f32(x[j])")),
        rows(*SUM).body[0],
    ],
    ids=["half a vector", "one element", "none", "no vector", "a long row", "in place",
         "two sizes", "a fold", "a branch", "a long function", "one row"],
)  # fmt: skip
def test_other_loops_stay_as_they_are(made):
    assert overlapping(made) == (made,)


@pytest.mark.parametrize("kind", ["f32", "f64", "s32"])
@pytest.mark.parametrize("size", [17, 23, 31, 43])
def test_sums_of_neighbours(kind, size):
    module = hlo.parse(
        f"""HloModule m
        ENTRY e {{
          x = {kind}[9,{size + 2}] parameter(0)
          a = {kind}[9,{size}] slice(x), slice={{[0:9],[0:{size}]}}
          b = {kind}[9,{size}] slice(x), slice={{[0:9],[2:{size + 2}]}}
          ROOT s = {kind}[9,{size}] add(a, b)
        }}"""
    )
    dtype = module.entry.root.shape.element_type.dtype
    x = np.random.default_rng(size).integers(-99, 99, (9, size + 2)).astype(dtype)
    assert compare(emit_c.compile(module)(x), interpreter.evaluate(module, x), BITS) is None
