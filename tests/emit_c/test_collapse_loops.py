"""Rows of few columns are collapsed into one loop in lanes; C gives the same values."""

import numpy as np
import pytest
from written import Assign, For, If, Let, Variable

import emit_c
import hlo
import interpreter
from codegen.elements.kernel import Scope
from codegen.expressions import Apply, Index, Load, Name
from codegen.kinds import Pointer
from codegen.printer import text
from codegen.schedule.types import KernelTypes
from emit_c import emit
from emit_c.kernels.collapse_loops import collapse_loops
from emit_c.kernels.kernel import CKernel
from hlo.types.element_type import ELEMENT_TYPES
from optimizer import optimize
from optimizer.analysis.indexing import Sum, counter


def element(array, constant=0, **factors):
    """An element whose index is a sum of multiples of counters."""
    number = Sum(constant)
    for name, factor in factors.items():
        number = number + counter(name, 10_000) * factor
    return Load(Name(array), Index(number))


def collapsed(*statements, kind="f32"):
    """The statements after the pass."""
    types = KernelTypes(dict.fromkeys("xyz", Pointer(kind)), statements)
    return text(collapse_loops(CKernel(None, Scope()).body, statements, types))


def columns(*inside, width=7):
    return For("c", width, inside, simd=True)


def test_rows_of_columns_are_folded_as_one_loop():
    add = Assign("total[c]", Load(Name("total"), Name("c")) + element("x", i=7, c=1))
    total = Variable("f32", "total", size=7)
    loop = For("i", 300, (columns(add),), reductions=(("sum_of_floats", "total"),))
    assert (
        collapsed(total, loop)
        == """\
  f32 total[7];
  f32 lanes_1[224];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 224; k_1++) {
    lanes_1[k_1] = -0.0f;
  }
  for (s64 i_block = 0; i_block < 288; i_block += 32) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 224; k_1++) {
      lanes_1[k_1] = lanes_1[k_1] + x[i_block * 7 + k_1];
    }
  }
  for (s64 i = 288; i < 300; i++) {
    #pragma omp simd
    for (s64 c = 0; c < 7; c++) {
      total[c] = total[c] + x[i * 7 + c];
    }
  }
  sum_of_columns(lanes_1);
  #pragma omp simd
  for (s64 c = 0; c < 7; c++) {
    total[c] = total[c] + lanes_1[c];
  }
"""
    )


def test_columns_that_all_rows_read_are_copied_once():
    body = columns(
        Assign(element("y", i=3, c=1), element("x", i=3, c=1) * element("z", c=1)), width=3
    )
    assert (
        collapsed(For("i", 128, (body,), parallel=True))
        == """\
  f32 tile[96];
  for (s64 row = 0; row < 32; row++) {
    #pragma omp simd
    for (s64 c = 0; c < 3; c++) {
      tile[row * 3 + c] = z[c];
    }
  }
  for (s64 i_block = 0; i_block < 128; i_block += 32) {
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 96; k_1++) {
      y[i_block * 3 + k_1] = x[i_block * 3 + k_1] * tile[k_1];
    }
  }
"""
    )


def test_rows_that_lie_apart_are_copied():
    double = Let("f32", "a", "exp_f32(n)")
    body = (
        Variable("f32", "own", size=14),
        For("j", 2, (columns(Assign(element("own", j=7, c=1), element("x", i=14, j=7, c=1))),)),
        columns(double, Assign(element("y", i=9, c=1), element("own", 7, c=1))),
    )
    assert (
        collapsed(For("i", 128, body, parallel=True))
        == """\
  for (s64 i_block = 0; i_block < 128; i_block += 32) {
    f32 own[448];
    for (s64 j = 0; j < 2; j++) {
      f32 tile[224];
      for (s64 row = 0; row < 32; row++) {
        const s64 i = i_block + row;
        #pragma omp simd
        for (s64 c = 0; c < 7; c++) {
          tile[row * 7 + c] = x[i * 14 + j * 7 + c];
        }
      }
      #pragma omp simd
      for (s64 k_1 = 0; k_1 < 224; k_1++) {
        own[j * 224 + k_1] = tile[k_1];
      }
    }
    f32 tile_1[224];
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 224; k_1++) {
      const f32 a = exp_f32(n);
      tile_1[k_1] = own[k_1 + 224];
    }
    for (s64 row = 0; row < 32; row++) {
      const s64 i = i_block + row;
      #pragma omp simd
      for (s64 c = 0; c < 7; c++) {
        y[i * 9 + c] = tile_1[row * 7 + c];
      }
    }
  }
"""
    )


def test_values_of_rows_are_repeated_for_their_columns():
    stored = Assign(element("y", i=7, c=1), "exp_f32(n - b)")
    row = Let("f32", "a", Load(Name("x"), Name("i"))), Let("f32", "b", "a + a")
    made = collapsed(For("i", 300, (*row, columns(stored)), parallel=True))
    assert (
        made[: made.index("  for (s64 i = 288")]
        == """\
  for (s64 i_block = 0; i_block < 288; i_block += 32) {
    f32 tile[224];
    for (s64 row = 0; row < 32; row++) {
      const s64 i = i_block + row;
      const f32 a = x[i];
      const f32 b = a + a;
      #pragma omp simd
      for (s64 c = 0; c < 7; c++) {
        tile[row * 7 + c] = b;
      }
    }
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 224; k_1++) {
      y[i_block * 7 + k_1] = exp_f32(n - tile[k_1]);
    }
  }
"""
    )


STORE = Assign(element("y", i=7, c=1), element("x", i=7, c=1))
EXP = Let("f32", "e", "exp_f32(n)")
SIDE = Assign(element("y", i=7, c=1), "i > 3 ? x[c] : 0")
LOOPS = {
    "iterations in turn": For("i", 300, (columns(STORE),)),
    "few rows": For("i", 63, (columns(STORE),), parallel=True),
    "whole vectors": For("i", 300, (columns(STORE, width=16),), parallel=True),
    "many columns": For("i", 300, (columns(STORE, width=99),), parallel=True),
    "columns that fill a vector, for few operations": For(
        "i", 300, (columns(STORE, width=17),), parallel=True
    ),
    "copies for few operations": For(
        "i", 300, (columns(Assign(element("y", i=9, c=1), "n")),), parallel=True
    ),
    "a choice between statements": For(
        "i", 300, (columns(If("x[i] > 0", (STORE,))),), parallel=True
    ),
    "a number of the row, for few operations": For(
        "i",
        300,
        (Let("f32", "a", "x[i]"), columns(Assign(element("y", i=7, c=1), "a"))),
        parallel=True,
    ),
    "a number of the row as an index": For(
        "i",
        300,
        (Let("s64", "n", "z[i]"), columns(EXP, Assign(STORE.target, element("x", n=1, c=1)))),
        parallel=True,
    ),
    "a number of the row that the loop writes": For(
        "i", 300, (Let("f32", "a", "y[i]"), columns(EXP, Assign(STORE.target, "a"))), parallel=True
    ),
    "the counter of columns as a number": For(
        "i", 300, (columns(Assign(element("y", i=7, c=1), "c + 1")),), parallel=True
    ),
    "an element that may not be loaded": For("i", 300, (columns(EXP, SIDE),), parallel=True),
    "an index that is computed": For(
        "i",
        300,
        (columns(EXP, Let("s64", "n", "z[0]"), Assign(STORE.target, element("x", n=1, c=1))),),
        parallel=True,
    ),
    "rows that are folded": For(
        "i", 300, (For("c", 7, (STORE,), simd=True, reductions=(("+", "n"),)),), parallel=True
    ),
    "columns of several widths": For(
        "i", 300, (columns(STORE), columns(STORE, width=3)), parallel=True
    ),
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_other_loops_stay(loop):
    assert collapsed(loop) == text([loop])


def test_rows_inside_of_others_are_collapsed_there():
    store = Assign(element("y", i=2100, j=7, c=1), "n")
    inner = For("j", 300, (columns(store),), parallel=True)
    made = collapsed(For("i", 300, (inner,), parallel=True))
    assert "for (s64 i = 0; i < 300; i++) {" in made
    assert "for (s64 j_block" in made


# ----------------------------------------------------------------------------------------- programs


def softmax(kind: str, dims: list[int], axis: int) -> hlo.Module:
    """Softmax along an axis."""
    shape = ",".join(map(str, dims))
    kept = [d for d in range(len(dims)) if d != axis]
    left, others = ",".join(str(dims[d]) for d in kept), ",".join(map(str, kept))
    return hlo.parse(f"""HloModule softmax
max {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT r = {kind}[] maximum(a, b)
}}
add {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT r = {kind}[] add(a, b)
}}
ENTRY e {{
  x = {kind}[{shape}] parameter(0)
  least = {kind}[] constant(-inf)
  most = {kind}[{left}] reduce(x, least), dimensions={{{axis}}}, to_apply=max
  mosts = {kind}[{shape}] broadcast(most), dimensions={{{others}}}
  less = {kind}[{shape}] subtract(x, mosts)
  power = {kind}[{shape}] exponential(less)
  zero = {kind}[] constant(0)
  sum = {kind}[{left}] reduce(power, zero), dimensions={{{axis}}}, to_apply=add
  sums = {kind}[{shape}] broadcast(sum), dimensions={{{others}}}
  ROOT r = {kind}[{shape}] divide(power, sums)
}}""")


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
@pytest.mark.parametrize(
    ("dims", "axis"),
    [([611, 7], 0), ([391, 10], 0), ([391, 33], 0), ([300, 2, 7], 1), ([2, 300, 5], 1)],
)
def test_softmax_of_few_columns(kind, dims, axis):
    module = softmax(kind, dims, axis)
    assert "_block += " in emit(optimize(module, target="cpu")).source
    dtype = ELEMENT_TYPES[kind].dtype
    x = np.random.default_rng(0).normal(size=dims).astype(dtype)
    got, wanted = emit_c.compile(module)(x), interpreter.evaluate(module, x)
    epsilon = {"f32": 2e-6, "f64": 4e-15, "bf16": 2e-2}[kind]
    np.testing.assert_allclose(np.asarray(got, float), np.asarray(wanted, float), rtol=epsilon)


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "s64", "f64"])
@pytest.mark.parametrize("operation", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("width", [3, 7])
def test_folds_of_few_columns(kind, operation, width):
    module = hlo.parse(f"""HloModule fold
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = {kind}[] {operation}(a, b) }}
ENTRY e {{
  x = {kind}[999,{width}] parameter(0)
  i = {kind}[] parameter(1)
  ROOT r = {kind}[{width}] reduce(x, i), dimensions={{0}}, to_apply=f
}}""")
    assert "_of_columns" in emit(optimize(module, target="cpu")).source
    # Products stay exact.
    numbers = [1, 2] if operation == "multiply" and kind == "f64" else [1, 2, 3, 100]
    x = np.random.default_rng(0).choice(numbers, (999, width)).astype(ELEMENT_TYPES[kind].dtype)
    initial = np.array(3, x.dtype)
    got = emit_c.compile(module)(x, initial)
    np.testing.assert_array_equal(got, interpreter.evaluate(module, x, initial))


@pytest.mark.parametrize("kind", ["u8", "s16", "bf16", "f16", "f32"])
@pytest.mark.parametrize("width", [3, 7, 15, 17])
def test_rows_by_numbers_of_rows(kind, width):
    module = hlo.parse(f"""HloModule rows
ENTRY e {{
  x = {kind}[700,{width}] parameter(0)
  n = {kind}[700] parameter(1)
  twice = {kind}[700] add(n, n)
  each = {kind}[700,{width}] broadcast(twice), dimensions={{0}}
  ROOT r = {kind}[700,{width}] multiply(x, each)
}}""")
    generator, dtype = np.random.default_rng(width), ELEMENT_TYPES[kind].dtype
    x, n = (generator.integers(0, 9, size).astype(dtype) for size in ((700, width), 700))
    np.testing.assert_array_equal(
        np.asarray(emit_c.compile(module)(x, n)), np.asarray(interpreter.evaluate(module, x, n))
    )


def outer(count=2, width=3):
    """The products of a row's first elements with its others, in a loop over rows."""
    own = Let("f32", "own", Apply("load_bf16", (element("x", i=width, a=1),)))
    number = counter("i", 10_000) * (count * width) + counter("a", count) * width
    product = Assign(
        Load(Name("y"), Index(number + counter("b", width))),
        Apply("store_bf16", (Name("own") * Apply("load_bf16", (element("x", i=width, b=1),)),)),
    )
    inner = For("b", width, (product,), simd=True)
    return For("i", 256, (For("a", count, (own, inner)),), parallel=True)


def test_two_loops_over_columns_are_one():
    assert (
        collapsed(outer(), kind="bf16")
        == """\
  for (s64 i_block = 0; i_block < 256; i_block += 16) {
    bf16 tile[96];
    for (s64 row = 0; row < 16; row++) {
      const s64 i = i_block + row;
      for (s64 a = 0; a < 2; a++) {
        #pragma omp simd
        for (s64 b = 0; b < 3; b++) {
          tile[row * 6 + (a * 3 + b)] = x[i * 3 + a];
        }
      }
    }
    bf16 tile_1[96];
    for (s64 row = 0; row < 16; row++) {
      const s64 i = i_block + row;
      for (s64 a = 0; a < 2; a++) {
        #pragma omp simd
        for (s64 b = 0; b < 3; b++) {
          tile_1[row * 6 + (a * 3 + b)] = x[i * 3 + b];
        }
      }
    }
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 96; k_1++) {
      const f32 own = load_bf16(tile[k_1]);
      y[i_block * 6 + k_1] = store_bf16(own * load_bf16(tile_1[k_1]));
    }
  }
"""
    )


@pytest.mark.parametrize("loop", [outer(width=16), outer(count=99)], ids=["a vector", "many"])
def test_two_loops_over_more_columns_stay(loop):
    assert collapsed(loop, kind="bf16") == text([loop])


@pytest.mark.parametrize("element_type", ["bf16", "f16", "s8"])
@pytest.mark.parametrize(("rows", "count", "width"), [(300, 7, 7), (263, 2, 3), (129, 10, 10)])
def test_outer_products_of_rows(element_type, rows, count, width):
    dtype = ELEMENT_TYPES[element_type].dtype
    generator = np.random.default_rng(7)
    x, y = (
        (generator.standard_normal((rows, n)) * 9).astype(dtype) for n in (count, width)
    )  # fmt: skip
    if element_type != "s8":
        x[0, :2], y[1, :3] = [np.nan, np.inf], [-0.0, 1e-7, 0]
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {element_type}[{rows},{count}] parameter(0)
  y = {element_type}[{rows},{width}] parameter(1)
  a = {element_type}[{rows},{count},{width}] broadcast(x), dimensions={{0,1}}
  b = {element_type}[{rows},{count},{width}] broadcast(y), dimensions={{0,2}}
  ROOT p = {element_type}[{rows},{count},{width}] multiply(a, b)
}}""")
    executable = emit_c.compile(module)
    assert ("tile" in executable.source) == (element_type != "s8")
    both = executable(x, y), interpreter.evaluate(module, x, y)
    mine, meant = (each.astype(np.float32) for each in both)
    np.testing.assert_array_equal(mine, meant)
    np.testing.assert_array_equal(np.signbit(mine[mine == 0]), np.signbit(meant[meant == 0]))
