"""Long functions of the folds of rows are computed in lanes; C gives the same values."""

import numpy as np
import pytest
from written import Assign, For, Let, Variable

import emit_c
import hlo
from codegen.elements.kernel import Scope
from codegen.printer import text
from codegen.statements import Statement
from emit_c.kernels.distribute_loops import distribute_loops
from emit_c.kernels.kernel import CKernel

FOLD = (
    Variable("f32", "s", "0.0"),
    For("j", 32, (Assign("s", "s + x[i * 32 + j]"),), reductions=(("+", "s"),)),
)
LOGARITHM = (Let("f32", "l", "log_f32(s)"), Assign("y[i]", "l"))


def distributed(*statements: Statement) -> str:
    return text(distribute_loops(CKernel(None, Scope()).body, statements))


def test_rows_are_folded_first_and_their_results_are_in_lanes():
    scaled = (Let("f32", "a", "w[i]"), Let("f32", "l", "a * log_f32(s)"), Assign("y[i]", "l"))
    assert (
        distributed(For("i", 128, (*FOLD, *scaled), parallel=True))
        == """\
  for (s64 i_block = 0; i_block < 128; i_block += 64) {
    f32 s_of_rows[64];
    for (s64 k_1 = 0; k_1 < 64; k_1++) {
      const s64 i = k_1 + i_block;
      f32 s = 0.0;
      for (s64 j = 0; j < 32; j++) {
        s = s + x[i * 32 + j];
      }
      s_of_rows[k_1] = s;
    }
    #pragma omp simd
    for (s64 k_1 = 0; k_1 < 64; k_1++) {
      const s64 i_1 = k_1 + i_block;
      const f32 a = w[i_1];
      const f32 l = a * log_f32(s_of_rows[k_1]);
      y[i_1] = l;
    }
  }
"""
    )


def test_few_rows_need_no_blocks():
    made = distributed(For("i", 7, (*FOLD, *LOGARITHM)))
    assert "_block" not in made
    assert "f32 s_of_rows[7];" in made


def test_what_fills_no_block_is_distributed_too():
    made = distributed(For("i", 131, (*FOLD, *LOGARITHM)))
    assert "i_block < 128; i_block += 64" in made
    assert "f32 s_of_rows_1[3];" in made
    assert "i_3 = k_2 + 128" in made


@pytest.mark.parametrize(
    "body",
    [
        pytest.param((*FOLD, Assign("y[i]", "s")), id="nothing long"),
        pytest.param((*FOLD, Let("f32", "l", "log_f32(s)"), Assign("x[i]", "l")), id="read"),
        pytest.param(
            (*FOLD, Let("f32", "l", "log_f32(s)"), Assign("s", "s + 1.0"), Assign("y[i]", "l")),
            id="changed later",
        ),
        pytest.param((Let("f32", "l", "log_f32(x[i])"), Assign("y[i]", "l")), id="no fold"),
        pytest.param(
            (*FOLD, Let("f32", "l", "log_f32(s)"), For("j", 9, (Assign("y[i * 9 + j]", "l"),))),
            id="needed along the row",
        ),
    ],
)
def test_others_stay_as_they_are(body):
    loop = For("i", 128, body)
    assert distribute_loops(CKernel(None, Scope()).body, [loop]) == (loop,)


def test_a_fold_that_stores_what_an_earlier_row_loads_stays_before_the_next_row():
    fold = For(
        "r",
        32,
        (Assign("z[i * 32 + r]", "x[i * 32 + r]"), Assign("s", "s + x[i * 32 + r]")),
        reductions=(("+", "s"),),
    )
    body = (FOLD[0], fold, Let("f32", "l", "log_f32(s)"), Assign("y[i]", "l + z[i * 32 + 32]"))
    loop = For("i", 128, body)
    assert distribute_loops(CKernel(None, Scope()).body, [loop]) == (loop,)


def test_few_or_long_rows_stay():
    assert "_of_rows" not in distributed(For("i", 3, (*FOLD, *LOGARITHM)))
    long = (FOLD[0], For("j", 5000, FOLD[1].body, reductions=(("+", "s"),)))
    assert "_of_rows" not in distributed(For("i", 128, (*long, *LOGARITHM)))


@pytest.mark.parametrize("rows", [4, 63, 64, 67, 130, 1000])
@pytest.mark.parametrize("columns", [17, 32, 50])
def test_values(rows, columns):
    module = hlo.parse(f"""HloModule m
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
ENTRY e {{
  x = f32[{rows},{columns}] parameter(0)
  w = f32[{rows}] parameter(1)
  zero = f32[] constant(0)
  squares = f32[{rows},{columns}] multiply(x, x)
  total = f32[{rows}] reduce(squares, zero), dimensions={{1}}, to_apply=add
  log = f32[{rows}] log(total)
  scaled = f32[{rows}] multiply(log, w)
  ROOT both = f32[{rows}] tanh(scaled)
}}""")
    generator = np.random.default_rng(rows)
    x = generator.standard_normal((rows, columns)).astype(np.float32)
    w = generator.standard_normal(rows).astype(np.float32)
    x[0], w[-1] = 0, np.inf
    made = emit_c.compile(module)
    assert "_of_rows" in made.source
    plain = emit_c.compile(module, plain=True)
    np.testing.assert_allclose(made(x, w), plain(x, w), rtol=1e-5)
