"""Folds of a few columns have a variable for each; C gives what the interpreter gives."""

from textwrap import dedent

import numpy as np
import pytest
from numbered_names import Names
from written import Assign, For, Let, Variable

import emit_c
import hlo
from codegen.printer import text
from emit_c.kernels.unroll_columns import unroll_columns
from interpreter import evaluate


def fold(rows=100, columns=3, declared=3, *more):
    inside = Let("f32", "v", "x[i * 3 + c]"), Assign("s[c]", "s[c] + v"), *more
    loop = For("i", rows, (For("c", columns, inside, simd=True),), reductions=(("+", "s"),))
    return Variable("f32", "s", size=declared), loop


def unrolled(*statements):
    return unroll_columns(Names(), statements)


def test_each_column_has_a_variable():
    assert dedent(text(unrolled(*fold(columns=2, declared=2)))) == (
        "f32 s[2];\n"
        "f32 s_1 = s[0];\n"
        "f32 s_2 = s[1];\n"
        "#pragma omp simd reduction(+ : s_1) reduction(+ : s_2)\n"
        "for (s64 i = 0; i < 100; i++) {\n"
        "  const f32 v_3 = x[i * 3 + 0];\n"
        "  s_1 = s_1 + v_3;\n"
        "  const f32 v_4 = x[i * 3 + 1];\n"
        "  s_2 = s_2 + v_4;\n"
        "}\n"
        "s[0] = s_1;\n"
        "s[1] = s_2;\n"
    )


def test_folds_inside_of_other_loops():
    (made,) = unrolled(For("h", 5, fold()))
    assert text(made.body).count("s_3 + ") == 1


@pytest.mark.parametrize(
    "statements",
    [fold(rows=20), fold(columns=7, declared=7), fold(columns=1, declared=1), fold(declared=9)],
    ids=["few rows", "many columns", "one column", "some of an array"],
)
def test_other_folds_stay(statements):
    assert unrolled(*statements) == statements


@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("opcode", ["add", "maximum", "multiply"])
@pytest.mark.parametrize("kind", ["f32", "s32", "u8", "f64"])
def test_sums_of_coordinates_with_weights(kind, opcode, columns):
    shape = f"{kind}[9,70,{columns}]"
    module = hlo.parse(f"""HloModule m
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT c = {kind}[] {opcode}(a, b) }}
ENTRY e {{
  x = {kind}[70,{columns}] parameter(0)
  w = {kind}[9,70] parameter(1)
  xs = {shape} broadcast(x), dimensions={{1,2}}
  ws = {shape} broadcast(w), dimensions={{0,1}}
  p = {shape} multiply(xs, ws)
  z = {kind}[] constant(1)
  ROOT s = {kind}[9,{columns}] reduce(p, z), dimensions={{1}}, to_apply=f
}}""")
    made = np.random.default_rng(columns)
    dtype = module.entry.root.shape.element_type.dtype
    x = made.integers(0, 3, (70, columns)).astype(dtype)
    w = made.integers(0, 3, (9, 70)).astype(dtype)
    np.testing.assert_array_equal(emit_c.compile(module)(x, w), evaluate(module, x, w))
