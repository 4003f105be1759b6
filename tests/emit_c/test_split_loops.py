"""Loops around lanes are cut where their choices change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from written import Assign, For, If, Let, Variable

import emit_c
import hlo
from codegen.elements.kernel import Scope
from codegen.printer import text
from emit_c.kernels.kernel import CKernel
from emit_c.kernels.split_loops import split_loops
from interpreter import evaluate


def lanes(condition, **options):
    """A loop of eight rows, whose lanes add up one of two arrays."""
    then, otherwise = (
        (Let("f32", f"{x}_1", f"{x}[i * 9 + j]"), Assign("y", f"{x}_1")) for x in "ab"
    )
    chosen = (Variable("f32", "y"), If(condition, then, otherwise))
    inner = For("j", 9, (*chosen, Assign("z[j]", "z[j] + y")), simd=True)
    return For("i", 8, (inner,), **options)


def split(loop):
    return text(split_loops(CKernel(None, Scope()).body, [loop]))


def test_each_range_of_rows_has_its_choice():
    assert (
        split(lanes("i < 3"))
        == """\
  for (s64 i = 0; i < 3; i++) {
    #pragma omp simd
    for (s64 j = 0; j < 9; j++) {
      const f32 a_1 = a[i * 9 + j];
      const f32 y = a_1;
      z[j] = z[j] + y;
    }
  }
  for (s64 i_1 = 3; i_1 < 8; i_1++) {
    #pragma omp simd
    for (s64 j = 0; j < 9; j++) {
      const f32 b_1 = b[i_1 * 9 + j];
      const f32 y_1 = b_1;
      z[j] = z[j] + y_1;
    }
  }
"""
    )


def test_a_row_alone_is_no_loop():
    assert "(s64 i" not in split(lanes("i >= 1")).split("b[0 * 9 + j]")[0]


def test_the_rest_of_a_condition_is_asked():
    made = split(lanes("i >= 5 && j < 2"))
    assert made.count("if (j < 2) {") == 1


@pytest.mark.parametrize("condition", ["j < 3", "k < 3", "i < 3 || j < 2", "i < 9"])
def test_choices_that_are_the_same_in_all_rows_cut_nothing(condition):
    loop = lanes(condition)
    assert split_loops(CKernel(None, Scope()).body, [loop]) == (loop,)


def test_loops_that_threads_share_stay():
    loop = lanes("i < 3", parallel=True)
    assert split_loops(CKernel(None, Scope()).body, [loop]) == (loop,)


def test_many_ranges_stay():
    made = For("i", 8, tuple(lanes(f"i < {n}").body[0] for n in range(1, 6)))
    assert split_loops(CKernel(None, Scope()).body, [made]) == (made,)


@given(st.data())
def test_folds_of_what_is_put_together(data):
    parts = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    columns = data.draw(st.integers(1, 40))
    low, high = data.draw(st.tuples(st.integers(-1, 2), st.integers(0, 2)))
    rows = sum(parts) + low + high
    given_parts = "\n".join(
        f"  x{k} = f32[{n},{columns}] parameter({k})" for k, n in enumerate(parts)
    )
    module = hlo.parse(f"""HloModule m
f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
ENTRY e {{
{given_parts}
  c = f32[] constant(-7)
  s = f32[{sum(parts)},{columns}] concatenate({", ".join(f"x{k}" for k in range(len(parts)))}),
    dimensions={{0}}
  p = f32[{rows},{columns}] pad(s, c), padding={low}_{high}x0_0
  ROOT r = f32[{columns}] reduce(p, c), dimensions={{0}}, to_apply=f
}}""")
    generator = np.random.default_rng(0)
    # Sums of small integers are the same in every order.
    arguments = [generator.integers(-9, 9, (n, columns)).astype(np.float32) for n in parts]
    np.testing.assert_array_equal(emit_c.compile(module)(*arguments), evaluate(module, *arguments))
