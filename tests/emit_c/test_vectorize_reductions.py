"""Folds in the lanes of a vector: of every operation, type and length."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies.compiled import check

import emit_c
import hlo
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate

OPERATIONS = {
    "f": ("add", "multiply", "maximum", "minimum"),
    "s": ("add", "multiply", "maximum", "minimum", "and", "or", "xor"),
    "p": ("and", "or", "xor"),
}
OPERATIONS["u"] = OPERATIONS["s"]


def fold(kind, dims, operation, dimensions):
    kept = [d for i, d in enumerate(dims) if i not in dimensions]
    return hlo.parse(f"""HloModule m
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = {kind}[] {operation}(a, b) }}
ENTRY e {{
  x = {kind}[{",".join(map(str, dims))}] parameter(0)
  i = {kind}[] parameter(1)
  ROOT r = {kind}[{",".join(map(str, kept))}] reduce(x, i), to_apply=f,
    dimensions={{{",".join(map(str, dimensions))}}}
}}""")


def few(shape, kind, seed):
    """Numbers whose sums and products are exact."""
    dtype = ELEMENT_TYPES[kind].dtype
    numbers = [0, 1] if kind == "pred" else [1, 1, 1, 2] if kind[0] == "u" else [-1, 1, 1, 1]
    return np.random.default_rng(seed).choice(numbers, shape).astype(dtype)


@given(st.data())
def test_every_length_operation_and_type(data):
    kind = data.draw(st.sampled_from(["f32", "f64", "s8", "u16", "s32", "u64", "pred"]))
    operation = data.draw(st.sampled_from(OPERATIONS[kind[0]]))
    dims = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=3))
    first = data.draw(st.integers(0, len(dims) - 1))
    module = fold(kind, dims, operation, range(first, len(dims)))
    executable = emit_c.compile(module, optimize=False)
    arguments = few(dims, kind, 0), few((), kind, 1)
    np.testing.assert_array_equal(executable(*arguments), evaluate(module, *arguments))


def test_sums_of_nothing_but_minus_zero_keep_the_sign():
    module = fold("f32", [3, 20], "add", [1])
    x = np.full((3, 20), -0.0, np.float32)
    for start in (0.0, -0.0):
        made = emit_c.compile(module, optimize=False)(x, np.float32(start))
        np.testing.assert_array_equal(np.signbit(made), np.signbit(np.float32(start)))


def test_extremes_meet_nan_in_every_lane():
    module = fold("f32", [37, 37], "maximum", [1])
    x = np.where(np.eye(37, dtype=bool), np.float32(np.nan), np.float32(1))
    assert np.isnan(emit_c.compile(module, optimize=False)(x, np.float32(0))).all()


@given(st.integers(1, 140), st.sampled_from(["f32", "f64"]))
def test_masked_folds_of_every_length(n, kind):
    module = f"""HloModule m
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = {kind}[] add(a, b) }}
ENTRY e {{
  x = {kind}[3,{n}] parameter(0)
  m = pred[3,{n}] parameter(1)
  i = {kind}[] constant(0)
  z = {kind}[3,{n}] broadcast(i), dimensions={{}}
  y = {kind}[3,{n}] select(m, x, z)
  ROOT r = {kind}[3] reduce(y, i), to_apply=f, dimensions={{1}}
}}"""
    arguments = few((3, n), kind, 0), few((3, n), "pred", 1)
    check(module, optimize=True, arguments=arguments)


@given(st.integers(1, 40), st.integers(1, 10), st.booleans())
def test_short_folds_of_pairs_are_written_out(rows, columns, middle):
    """The least element and its place, along rows or columns."""
    dims, kept = ((columns, rows), "0") if middle else ((rows, columns), "1")
    shape = f"[{dims[0]},{dims[1]}]"
    module = f"""HloModule m
f {{
  a = f32[] parameter(0)  i = s32[] parameter(1)
  b = f32[] parameter(2)  j = s32[] parameter(3)
  less = pred[] compare(b, a), direction=LT
  x = f32[] select(less, b, a)  k = s32[] select(less, j, i)
  ROOT t = (f32[], s32[]) tuple(x, k)
}}
ENTRY e {{
  x = f32{shape} parameter(0)
  i = s32{shape} iota(), iota_dimension={kept}
  top = f32[] constant(inf)  zero = s32[] constant(-1)
  ROOT r = (f32[{rows}], s32[{rows}]) reduce(x, i, top, zero), dimensions={{{kept}}}, to_apply=f
}}"""
    x = np.random.default_rng(0).choice([1, 2, np.nan, np.inf, -0.0], dims).astype(np.float32)
    check(module, arguments=(x,))
