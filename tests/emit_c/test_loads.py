"""Loads of what a choice in lanes loads as well, or of what is always there, come first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies.compiled import check
from written import Assign, For, If, Let, Variable

from codegen.printer import text
from emit_c.kernels.peephole.loads import with_loads_first

CHOICE = (
    Variable("f32", "y"),
    If(
        "j < 3",
        (Let("f32", "a", "x[i * 9 + j]"), Assign("y", "a + 1")),
        (Let("f32", "b", "n[0]"), Assign("y", "b")),
    ),
)


def made(*statements):
    return text([with_loads_first(For("j", 9, statements, simd=True))])


def test_a_load_is_the_same_in_and_after_a_choice():
    after = Let("f32", "c", "x[i * 9 + j]"), Assign("z[j]", "y + c")
    found = made(*CHOICE, *after)
    assert found.count("x[i * 9 + j]") == 1
    assert found.index("f32 c = x") < found.index("if (j < 3)") < found.index("y = c + 1;")


def test_the_first_element_is_loaded_before_a_choice():
    found = made(*CHOICE)
    assert found.index("f32 b = n[0]") < found.index("if (j < 3)") < found.index("x[i * 9 + j]")


def test_what_two_choices_load_is_loaded_once():
    again = If("j < 2", (Let("f32", "d", "n[0]"), Assign("y", "d * 2")))
    found = made(*CHOICE, again)
    assert found.count("n[0]") == 1
    assert "y = b * 2;" in found


@pytest.mark.parametrize(
    "after",
    [
        (Let("s64", "k", "y * 2"), Let("f32", "c", "x[k]")),
        (Assign("x[j]", "y"), Let("f32", "c", "x[i * 9 + j]")),
    ],
    ids=["index", "stored"],
)
def test_what_is_known_after_the_choice_only_is_loaded_there(after):
    found = made(*CHOICE, *after)
    assert found.index("if (j < 3)") < found.index("f32 c = x")


def test_what_a_variable_was_before_is_no_load():
    first = Variable("f32", "y", "0"), Let("f32", "old", "y"), Assign("y", "old + x[j]")
    choice = If("j < 3", (Let("f32", "now", "y"), Assign("y", "now * 2")))
    found = made(*first, choice, Assign("z[j]", "y"))
    assert "f32 now = y;" in found


def test_what_is_stored_before_a_choice_is_loaded_again():
    first = Let("f32", "old", "x[j]"), Assign("x[j]", "old + 1")
    choice = If("j < 3", (Let("f32", "now", "x[j]"), Assign("z[j]", "now")))
    assert "f32 now = x[j];" in made(*first, choice)


def test_windows_of_several_arrays_with_padding():
    module = """HloModule m
f { a = f32[] parameter(0)  i = s32[] parameter(1)  b = f32[] parameter(2)  j = s32[] parameter(3)
  c = pred[] compare(a, b), direction=LE  m = f32[] select(c, a, b)  k = s32[] select(c, i, j)
  ROOT t = (f32[], s32[]) tuple(m, k) }
ENTRY e { x = f32[7] parameter(0)  y = s32[7] iota(), iota_dimension=0
  i = f32[] constant(0)  j = s32[] constant(-1)
  ROOT r = (f32[3], s32[3]) reduce-window(x, y, i, j), to_apply=f,
    window={size=2 stride=2 pad=-1_2 rhs_dilate=2} }"""
    x = np.array([-0.5, -0.5, 2, 2, -1.5, -1, 0], np.float32)
    check(module, optimize=True, arguments=(x,))


def test_loops_without_choices_stay():
    loop = For("j", 9, (Let("f32", "a", "x[j]"), Assign("z[j]", "a")), simd=True)
    assert with_loads_first(loop) is loop


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 30))
def test_parts_of_rows_that_are_written_over(low, high, rows):
    """As models do that keep a band around the diagonal: select, by pads, of what is padded."""
    columns = low + 5 + high
    module = f"""HloModule m
f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }}
ENTRY e {{
  x = f32[{rows},{columns}] parameter(0)
  n = f32[] parameter(1)
  yes = pred[] constant(true)
  no = pred[] constant(false)
  t = pred[{rows},5] broadcast(yes), dimensions={{}}
  mask = pred[{rows},{columns}] pad(t, no), padding=0_0x{low}_{high}
  i = s32[{rows},5] iota(), iota_dimension=0
  j = s32[{rows},5] iota(), iota_dimension=1
  less = pred[{rows},5] compare(i, j), direction=LT
  inside = f32[{rows},5] slice(x), slice={{[0:{rows}],[{low}:{low + 5}]}}
  ns = f32[{rows},5] broadcast(n), dimensions={{}}
  band = f32[{rows},5] select(less, ns, inside)
  zero = f32[] constant(0)
  wide = f32[{rows},{columns}] pad(band, zero), padding=0_0x{low}_{high}
  all = f32[{rows},{columns}] select(mask, wide, x)
  least = f32[] constant(-inf)
  m = f32[{rows}] reduce(all, least), dimensions={{1}}, to_apply=f
  ROOT r = (f32[{rows},{columns}], f32[{rows}]) tuple(all, m)
}}"""
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    arguments = x, np.float32(7)
    check(module, optimize=True, arguments=arguments)
