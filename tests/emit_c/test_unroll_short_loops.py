"""Short rows are folded and computed in lanes of many rows; C gives what the interpreter gives."""

from dataclasses import replace

import numpy as np
import pytest
from numbered_names import Names
from written import Assign, Call, For, If, Let, Variable

import codegen.statements
import emit_c
import hlo
import interpreter
from codegen.printer import text
from codegen.statements import each_side
from emit_c.kernels.unroll_short_loops import unroll_short_loops
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.compare import BITS, ROUNDING, compare

COMPUTATIONS = """HloModule m
sum { x = T[] parameter(0)  y = T[] parameter(1)  ROOT r = T[] add(x, y) }
most { x.1 = T[] parameter(0)  y.1 = T[] parameter(1)  ROOT r.1 = T[] maximum(x.1, y.1) }
ENTRY e {
  p = T[ROWS,N] parameter(0)
  q = T[N] parameter(1)
  zero = T[] constant(0)
  b = T[ROWS,N] broadcast(q), dimensions={1}
  product = T[ROWS,N] multiply(p, b)
  mirrored = T[ROWS,N] reverse(product), dimensions={1}
  total = T[ROWS] reduce(product, zero), dimensions={1}, to_apply=sum
  largest = T[ROWS] reduce(p, zero), dimensions={1}, to_apply=most
  ROOT t = (T[ROWS,N], T[ROWS], T[ROWS]) tuple(mirrored, total, largest)
}"""


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 11, 16, 17])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "u8", "s32"])
@pytest.mark.parametrize("rows", [20, 100])
def test_short_rows(kind, size, rows):
    module = COMPUTATIONS.replace("T[", f"{kind}[").replace("ROWS", str(rows))
    module = hlo.parse(module.replace("N]", f"{size}]"))
    generator = np.random.default_rng(size)
    dtype = ELEMENT_TYPES[kind].dtype
    x = generator.integers(0, 50, (rows, size)).astype(dtype)
    y = generator.integers(1, 4, size).astype(dtype)
    if ELEMENT_TYPES[kind].is_floating:
        x[3, 0], x[4, -1], x[5] = np.nan, np.inf, -0.0
    with np.errstate(all="ignore"):
        wanted = interpreter.evaluate(module, x, y)
    ours = emit_c.compile(module)(x, y)
    promises = (BITS, ROUNDING, BITS)
    for mine, meant, promise in zip(ours, wanted, promises, strict=True):
        assert compare(mine, meant, promise) is None


SUM = (Let("f32", "v", "x[i * 4 + j]"), Assign("t", "t + v"))


def nest(iterations, *, parallel=True, folded=SUM, rows=1000):
    inner = For("j", iterations, folded, simd=True, reductions=(("+", "t"),))
    body = (Variable("f32", "t", "0"), inner, Assign("y[i]", "t"))
    return [For("i", rows, body, parallel=parallel)]


def test_a_short_fold_is_written_out():
    assert (
        text(unroll_short_loops(Names(), nest(2)))
        == """\
  #pragma omp simd
  for (s64 i = 0; i < 1000; i++) {
    f32 t = 0;
    const f32 v_1 = x[i * 4 + 0];
    t = t + v_1;
    const f32 v_2 = x[i * 4 + 1];
    t = t + v_2;
    y[i] = t;
  }
"""
    )


WINDOW = (Let("f32", "v", "x[i * 4 + j * 2 + l]"), Assign("t", "t + v"))


def window(high, wide):
    """A fold of so many rows and columns in each iteration."""
    inner = For("l", wide, WINDOW, simd=True, reductions=(("+", "t"),))
    body = (Variable("f32", "t", "0"), For("j", high, (inner,)), Assign("y[i]", "t"))
    return [For("i", 1000, body, parallel=True)]


def test_a_short_fold_over_a_window_is_written_out():
    assert (
        text(unroll_short_loops(Names(), window(2, 2)))
        == """\
  #pragma omp simd
  for (s64 i = 0; i < 1000; i++) {
    f32 t = 0;
    const f32 v_1_2 = x[i * 4 + 0 * 2 + 0];
    t = t + v_1_2;
    const f32 v_1_3 = x[i * 4 + 0 * 2 + 1];
    t = t + v_1_3;
    const f32 v_4_5 = x[i * 4 + 1 * 2 + 0];
    t = t + v_4_5;
    const f32 v_4_6 = x[i * 4 + 1 * 2 + 1];
    t = t + v_4_6;
    y[i] = t;
  }
"""
    )


def pieces(*inside):
    """A row put together of seven elements, two of a long function, and others."""
    copied = For("j", 7, (Assign("y[i * 10 + j]", "x[i * 7 + j]"),), simd=True)
    dear = For("j", 9, (Assign("y[i * 10 + j]", "exp_f32(x[j - 7])"),), start=7, simd=True)
    return For("i", 1000, (copied, dear, *inside), parallel=True)


def test_short_pieces_of_long_functions_have_a_loop_of_their_own():
    last = Let("f32", "v", "x[i]"), Assign("y[i * 10 + 9]", "v")
    assert (
        text(unroll_short_loops(Names(), [pieces(*last)]))
        == """\
  for (s64 i = 0; i < 1000; i++) {
    #pragma omp simd
    for (s64 j = 0; j < 7; j++) {
      y[i * 10 + j] = x[i * 7 + j];
    }
    const f32 v = x[i];
    y[i * 10 + 9] = v;
  }
  #pragma omp simd
  for (s64 i = 0; i < 1000; i++) {
    y[i * 10 + 7] = exp_f32(x[7 - 7]);
    y[i * 10 + 8] = exp_f32(x[8 - 7]);
  }
"""
    )


@pytest.mark.parametrize(
    "inside",
    [
        (Assign("x[i]", "z[i]"),),
        (Assign("z[i]", "y[i]"),),
        (Variable("f32", "t", "0"), Assign("z[i]", "t")),
        (If("x[i] > 0", (Assign("z[i]", "x[i]"),), ()),),
    ],
    ids=["it is read", "it is written", "a variable", "a branch"],
)
def test_pieces_that_share_something_stay_in_one_loop(inside):
    assert unroll_short_loops(Names(), [pieces(*inside)]) == (pieces(*inside),)


def test_pieces_of_iterations_in_turn_stay_in_one_loop():
    """A later iteration may store the same element again."""
    loop = replace(pieces(), parallel=False)
    assert unroll_short_loops(Names(), [loop]) == (loop,)


def angles(turns):
    """The sines and cosines of three numbers at several frequencies, as images are encoded."""
    pairs = (("sine", 0), ("cosine", 3))
    inner = (
        For(
            "k", start + 3,
            (Assign("y[j * 6 + k]", f"{name}_f32(x[k - {start}] * z[j])"),),
            start=start, simd=True,
        )
        for name, start in pairs
    )  # fmt: skip
    return For("j", turns, tuple(inner), parallel=True)


def test_long_functions_of_three_numbers_are_computed_in_lanes_of_ten():
    (loop,) = unroll_short_loops(Names(), [angles(10)])
    assert loop.simd
    assert text([loop]).count("sine_f32(") == 6


def test_long_functions_of_more_numbers_than_rows_stay_in_rows():
    assert unroll_short_loops(Names(), [angles(3)]) == (angles(3),)


def test_rows_that_fill_one_vector_are_enough():
    (loop,) = unroll_short_loops(Names(), nest(2, rows=16))
    assert loop.simd


@pytest.mark.parametrize(
    "statements",
    [
        nest(100),
        nest(2, parallel=False),
        nest(2, rows=15),
        nest(2, folded=(Call("f", ("j",)),)),
        nest(16, folded=tuple(Let("f32", f"v{k}", "exp_f32(x[j])") for k in range(20))),
        # Each alone would be written out, but a compiler has to take all of them.
        nest(16) * 15,
        window(4, 5),
    ],
)
def test_other_loops_stay_as_they_are(statements):
    assert unroll_short_loops(Names(), statements) == tuple(statements)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_first_columns_are_copied_row_by_row(size):
    module = hlo.parse(f"""HloModule columns
ENTRY e {{
  x = f32[200,128] parameter(0)
  ROOT y = f32[200,{size}] slice(x), slice={{[0:200], [0:{size}]}}
}}""")
    x = np.random.default_rng(0).standard_normal((200, 128)).astype(np.float32)
    executable = emit_c.compile(module, optimize=False)
    assert np.array_equal(executable(x), interpreter.evaluate(module, x))
    assert f"for (s64 i1 = 0; i1 < {size}; i1++)" in executable.source


def test_short_rows_side_by_side_are_copied_in_lanes_of_rows():
    module = hlo.parse("""HloModule mirrored
ENTRY e {
  x = u8[100,3] parameter(0)
  ROOT y = u8[100,3] reverse(x), dimensions={1}
}""")
    x = np.random.default_rng(0).integers(0, 99, (100, 3)).astype(np.uint8)
    executable = emit_c.compile(module, optimize=False)
    assert np.array_equal(executable(x), x[:, ::-1])
    assert "y[i0 * 3 + 2] = x[i0 * 3];" in executable.source


def test_choices_by_the_row_are_made_when_rows_are_written_out():
    chosen = If("j < 1", (Let("f32", "u", "x[i]"), Assign("v", "u")), (Assign("v", "z[i] + 1.0f"),))
    folded = (Variable("f32", "v"), chosen, Assign("t", "t + v"))
    assert (
        text(unroll_short_loops(Names(), nest(2, folded=folded)))
        == """\
  #pragma omp simd
  for (s64 i = 0; i < 1000; i++) {
    f32 t = 0;
    const f32 u_1 = x[i];
    const f32 v_2 = u_1;
    t = t + v_2;
    const f32 v_3 = z[i] + 1.0f;
    t = t + v_3;
    y[i] = t;
  }
"""
    )


def test_a_short_loop_of_much_work_changes_places_with_blocks_of_the_long_one():
    work = tuple(Let("f32", f"v{k}", f"w[j] * {k}") for k in range(120))
    inner = For("j", 3, (*work, Assign("y[i * 3 + j]", "v119 + a")), simd=True)
    before = For("i", 100, (Let("f32", "a", "x[i]"), inner), parallel=True)
    shown = text(unroll_short_loops(Names(), [before]))
    assert [line for line in shown.split("\n") if "const f32 v" not in line] == [
        "  for (s64 i_block_1 = 0; i_block_1 < 64; i_block_1 += 64) {",
        "    for (s64 j = 0; j < 3; j++) {",
        "      #pragma omp simd",
        "      for (s64 k_2 = 0; k_2 < 64; k_2++) {",
        "        const s64 i = i_block_1 + k_2;",
        "        const f32 a = x[i];",
        "        y[i * 3 + j] = v119 + a;",
        "      }",
        "    }",
        "  }",
        "  for (s64 i = 64; i < 100; i++) {",
        "    const f32 a = x[i];",
        "    #pragma omp simd",
        "    for (s64 j = 0; j < 3; j++) {",
        "      y[i * 3 + j] = v119 + a;",
        "    }",
        "  }",
        "",
    ]


def test_loops_that_depend_on_each_other_do_not_change_places():
    work = tuple(Let("f32", f"v{k}", f"w[j] * {k}") for k in range(120))
    inner = For("j", 3, (*work, Assign("y[i * 3 + j]", "v119 + y[i * 3 + j - 1]")))
    nests = [For("i", 100, (inner,), parallel=True)]
    assert unroll_short_loops(Names(), nests) == tuple(nests)


def test_names_in_choices_are_new_in_each_iteration():
    """Later passes find what a name stands for by the name alone."""
    chosen = If("i < 9", (Let("f32", "u", "x[j]"), Assign("v", "u")), (Assign("v", "z[i]"),))
    folded = (Variable("f32", "v"), chosen, Assign("t", "t + v"))
    (made,) = unroll_short_loops(Names(), nest(2, folded=folded))
    declared = [s.name for s in each_side(made.body) if isinstance(s, codegen.statements.Let)]
    assert len(declared) == len(set(declared)) == 2
