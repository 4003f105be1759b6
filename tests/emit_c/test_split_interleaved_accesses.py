"""Several columns of an array are accessed around a loop in lanes; C gives the same values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from written import Assign, For, If, Let, Variable

import emit_c
import hlo
import interpreter
from codegen.elements.kernel import Scope
from codegen.kinds import Pointer
from codegen.printer import text
from codegen.schedule.types import KernelTypes
from emit_c import emit
from emit_c.kernels.kernel import CKernel
from emit_c.kernels.split_interleaved_accesses import split_interleaved_accesses
from hlo.types.element_type import ELEMENT_TYPES
from optimizer import optimize

KINDS = dict.fromkeys("xyz", Pointer("f32"))


def split(*inside, stop=9, **options):
    """A loop in lanes after the pass."""
    loop = For("i", stop, inside, simd=True, **options)
    return text(split_interleaved_accesses(CKernel(None, Scope()).body, [loop], KernelTypes(KINDS)))


def test_columns_are_loaded_before_the_loop():
    first, third = Let("f32", "a", "x[i * 7]"), Let("f32", "b", "x[i * 7 + 2]")
    assert (
        split(first, third, Assign("y[i]", "a + b"))
        == """\
  f32 column[9];
  f32 column_1[9];
  #pragma omp simd
  for (s64 i = 0; i < 9; i++) {
    column[i] = x[i * 7];
  }
  #pragma omp simd
  for (s64 i = 0; i < 9; i++) {
    column_1[i] = x[i * 7 + 2];
  }
  #pragma omp simd
  for (s64 i = 0; i < 9; i++) {
    const f32 a = column[i];
    const f32 b = column_1[i];
    y[i] = a + b;
  }
"""
    )


@pytest.mark.parametrize(("stride", "stop"), [(32, 40), (64, 16), (16, 16)])
def test_a_column_at_a_power_of_two_is_loaded_before_a_loop_that_computes(stride, stop):
    load, product = Let("f32", "a", f"x[i * {stride}]"), Let("f32", "b", "a * a")
    made = split(load, product, Assign("y[i]", "b + a"), stop=stop)
    assert f"column[i] = x[i * {stride}];" in made


@pytest.mark.parametrize(("stride", "stop"), [(31, 40), (8, 16), (16, 17), (4, 64), (1, 64)])
def test_a_column_at_another_stride_is_loaded_in_lanes(stride, stop):
    load, product = Let("f32", "a", f"x[i * {stride}]"), Let("f32", "b", "a * a")
    assert "column" not in split(load, product, Assign("y[i]", "b + a"), stop=stop)


def test_a_column_at_a_power_of_two_that_is_only_moved_stays():
    assert "column" not in split(Let("f32", "a", "x[i * 64]"), Assign("y[i]", "a"), stop=64)


def test_a_column_at_a_power_of_two_stays_where_another_keeps_the_loop_from_lanes():
    place, other = Let("s64", "p", "z[0]"), Let("f32", "c", "x[i * 32 + p]")
    product = Let("f32", "b", "c * c")
    assert "column" not in split(place, other, product, Assign("y[i * 32]", "b + c"), stop=40)


def test_the_lanes_of_a_block_are_counted_from_its_first_row():
    row, load = Let("s64", "j", "block + i"), Let("f32", "a", "x[j * 64]")
    made = split(row, load, Let("f32", "b", "a * a"), Assign("y[j]", "b + a"), stop=16)
    assert "column[i] = x[(block + i) * 64];" in made


def test_columns_are_stored_after_the_loop():
    assert (
        split(Assign("y[i * 5]", "x[i]"), Assign("y[i * 5 + 1]", "x[i] * x[i]"), stop=130)
        == """\
  for (s64 i_block = 0; i_block < 128; i_block += 64) {
    f32 column[64];
    f32 column_1[64];
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 64; k_1++) {
      const s64 i = k_1 + i_block;
      column[k_1] = x[i];
      column_1[k_1] = x[i] * x[i];
    }
    for (s64 k_1 = 0; k_1 < 64; k_1++) {
      y[(k_1 + i_block) * 5] = column[k_1];
      y[(k_1 + i_block) * 5 + 1] = column_1[k_1];
    }
  }
  f32 column_2[2];
  f32 column_3[2];
  #pragma omp simd
  for (s64 k_2 = 0; k_2 < 2; k_2++) {
    const s64 i_1 = k_2 + 128;
    column_2[k_2] = x[i_1];
    column_3[k_2] = x[i_1] * x[i_1];
  }
  for (s64 k_2 = 0; k_2 < 2; k_2++) {
    y[(k_2 + 128) * 5] = column_2[k_2];
    y[(k_2 + 128) * 5 + 1] = column_3[k_2];
  }
"""
    )


def test_three_columns_of_masked_loads_are_stored_after_the_loop():
    chosen = [
        each
        for k in range(3)
        for each in (
            Variable("f32", f"a{k}"),
            If(f"i < {k}", (Assign(f"a{k}", f"x[i * 3 + {k}]"),), (Assign(f"a{k}", "0"),)),
            Assign(f"y[i * 3 + {k}]", f"a{k}"),
        )
    ]
    made = split(*chosen)
    assert "    column[i] = a0;" in made
    assert "    y[i * 3 + 1] = column_1[i];" in made


def loads(stride):
    """Two columns of rows of so many."""
    return Let("f32", "a", f"x[i * {stride}]"), Let("f32", "b", f"x[i * {stride} + 2]")


@pytest.mark.parametrize(
    "inside",
    [
        (*loads(4), Assign("y[i]", "a + b")),
        (*loads(8), Assign("y[i]", "a + b")),
        (loads(7)[0], Assign("y[i]", "a + a")),
        (loads(7)[0], If("a > 0", (loads(7)[1], Assign("y[i]", "b")), ())),
        (Let("s64", "n", "z[i]"), Let("f32", "a", "x[n * 7] + x[n * 7 + 1]")),
        (Let("f32", "a", "z[i * 7] + z[i * 7 + 1]"), Assign("z[i * 7]", "a")),
        (Assign("y[i * 7]", "x[i]"), Assign("y[i * 7 + 1]", "y[i * 7]")),
        (Assign("y[i * 7]", "x[i]"), If("x[i] > 0", (Assign("y[i * 7 + 1]", "x[i]"),), ())),
        (Assign("y[i * 7]", "x[i]"), Assign("y[i * 7]", "x[i] + x[i]")),
        (Let("f32", "a", "x[i * i * 7] + x[i * i * 7 + 1]"), Assign("y[i]", "a")),
        (Let("f32", "a", "w[i * 7] + w[i * 7 + 1]"), Assign("y[i]", "a")),
    ],
    ids=[
        "taken apart",
        "taken whole",
        "one column",
        "loaded in a branch",
        "rows in any order",
        "an array that is written",
        "an array that is read",
        "stored in a branch",
        "stored twice",
        "rows further and further apart",
        "an array of its own",
    ],
)
def test_other_loops_stay(inside):
    assert split(*inside) == text([For("i", 9, inside, simd=True)])


def test_a_loop_of_very_many_columns_runs_without_lanes():
    inside = tuple(Assign(f"y[i * 99 + {k}]", "x[i]") for k in range(65))
    assert split(*inside) == text([For("i", 9, inside)])


# ----------------------------------------------------------------------------------------- programs


def of_columns(rows: int, stride: int, columns: list[int], kind: str) -> hlo.Module:
    """Functions of some columns, put together in others, and their sum."""
    lines = [f"x = {kind}[{rows},{stride}] parameter(0)"]
    for k, column in enumerate(columns):
        last = "f1" if k > 1 else "c0"
        lines += [
            f"slice{k} = {kind}[{rows},1] slice(x), slice={{[0:{rows}], [{column}:{column + 1}]}}",
            f"c{k} = {kind}[{rows}] reshape(slice{k})",
            f"f{k} = {kind}[{rows}] multiply(c{k}, {last})",
            f"r{k} = {kind}[{rows},1] reshape(f{k})",
        ]
    every = ", ".join(f"r{k}" for k in range(len(columns)))
    inside = "\n  ".join(lines)
    return hlo.parse(f"""HloModule columns
ENTRY e {{
  {inside}
  ROOT all = {kind}[{rows},{len(columns)}] concatenate({every}), dimensions={{1}}
}}""")


@given(
    rows=st.integers(1, 200),
    stride=st.integers(5, 40),
    columns=st.lists(st.integers(0, 4), min_size=1, max_size=9),
    kind=st.sampled_from(["f32", "f64", "u8", "s16", "bf16", "c64"]),
)
def test_values(rows, stride, columns, kind):
    module = of_columns(rows, stride, columns, kind)
    numbers = np.random.default_rng(rows).integers(0, 12, (rows, stride))
    x = numbers.astype(ELEMENT_TYPES[kind].dtype)
    np.testing.assert_array_equal(
        np.asarray(emit_c.compile(module)(x)), np.asarray(interpreter.evaluate(module, x))
    )


@pytest.mark.parametrize("kind", ["f32", "f64", "u8"])
@pytest.mark.parametrize("start", range(4))
@pytest.mark.parametrize("columns", [2, 3, 4])
def test_columns_that_are_rolled(columns, start, kind):
    """Three were wrong from the second vector on: gcc used the masks of the first."""
    module = hlo.parse(f"""HloModule rolled
ENTRY e {{
  x = {kind}[200,{columns}] parameter(0)
  at = s32[] parameter(1)
  zero = s32[] constant(0)
  twice = {kind}[200,{2 * columns}] concatenate(x, x), dimensions={{1}}
  ROOT r = {kind}[200,{columns}] dynamic-slice(twice, zero, at),
    dynamic_slice_sizes={{200,{columns}}}
}}""")
    x = np.arange(200 * columns).reshape(200, columns).astype(ELEMENT_TYPES[kind].dtype)
    at = np.int32(min(start, columns))
    np.testing.assert_array_equal(np.asarray(emit_c.compile(module)(x, at)), np.roll(x, -at, 1))


def test_rows_of_a_large_power_of_two_are_loaded_by_columns():
    """Compilers made thousands of shuffles of these loads, and took seconds for that."""
    module = hlo.parse("""HloModule median
ENTRY e {
  x = f32[64,4096] parameter(0)
  low = f32[64,1] slice(x), slice={[0:64], [2047:2048]}
  high = f32[64,1] slice(x), slice={[0:64], [2048:2049]}
  ROOT sum = f32[64,1] add(low, high)
}""")
    assert " * 4096 + 2047];" in emit(optimize(module, target="cpu")).source
    assert "column[" in emit(optimize(module, target="cpu")).source
