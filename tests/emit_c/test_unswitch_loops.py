"""Loops in lanes whose choice is the same for all iterations are written once for each side."""

from textwrap import dedent

import numpy as np
import pytest
from written import Assign, For, Let

import emit_c
import hlo
from codegen.elements.kernel import Scope
from codegen.printer import text
from emit_c.kernels.kernel import CKernel
from emit_c.kernels.unswitch_loops import unswitch_loops
from interpreter import evaluate

LOOP = (
    Let("f32", "x", "a[j]"),
    Let("f32", "y", "sine(x)"),
    Assign("b[j]", "c ? y : x"),
)


def loop(*statements, **options):
    return For("j", 100, statements, simd=True, **options)


def unswitched(*statements):
    return unswitch_loops(CKernel(None, Scope()).body, statements)


def test_each_side_has_a_loop_without_what_it_does_not_need():
    (made,) = unswitched(loop(*LOOP))
    assert (
        dedent(text([made]))
        == """\
if (c) {
  #pragma omp simd
  for (s64 j = 0; j < 100; j++) {
    const f32 x = a[j];
    const f32 y = sine(x);
    b[j] = y;
  }
} else {
  #pragma omp simd
  for (s64 j = 0; j < 100; j++) {
    const f32 x = a[j];
    b[j] = x;
  }
}
"""
    )


@pytest.mark.parametrize(
    "choice",
    ["d ? y : x", "j < 3 ? y : x", "c ? y : sine(y)"],
    ids=["of the loop's own", "of its counter", "of two sides that are as long"],
)
def test_other_choices_stay(choice):
    made = loop(Let("pred", "d", "e[j]"), *LOOP[:2], Assign("b[j]", choice))
    assert unswitched(made) == (made,)


def test_what_is_hardly_any_work_stays():
    made = loop(LOOP[0], Assign("b[j]", "c ? x : 0"))
    assert unswitched(made) == (made,)


def test_loops_one_after_the_other_stay():
    made = For("j", 100, LOOP)
    assert unswitched(made) == (made,)


@pytest.mark.parametrize("size", [3, 100, 200_000])
@pytest.mark.parametrize("chosen", [False, True])
def test_values_stay(size, chosen):
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = s32[{size}] parameter(0)
  c = pred[] parameter(1)
  k = s32[] constant(7)
  ks = s32[{size}] broadcast(k), dimensions={{}}
  cs = pred[{size}] broadcast(c), dimensions={{}}
  i = s32[{size}] iota(), iota_dimension=0
  d = s32[{size}] divide(x, i)
  r = s32[{size}] remainder(d, ks)
  ROOT s = s32[{size}] select(cs, r, x)
}}""")
    x = np.random.default_rng(0).integers(-(2**31), 2**31, size, dtype=np.int32)
    made, right = (
        run(x, np.bool_(chosen))
        for run in (emit_c.compile(module), lambda *a: evaluate(module, *a))
    )
    np.testing.assert_array_equal(made, right)
