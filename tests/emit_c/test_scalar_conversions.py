"""Numbers of f16 outside of full vectors are converted by an instruction, with equal results."""

import numpy as np
import pytest
from written import For

import emit_c
import hlo
import interpreter
from codegen.expressions import Apply, Expr, Literal, Name, item
from codegen.kinds import Pointer
from codegen.printer import text
from codegen.schedule.types import KernelTypes
from codegen.statements import Assign
from emit_c.kernels.scalar_conversions import scalar_conversions
from optimizer.analysis.indexing import counter

X = item(Name("x"), counter("i", 7))
ROUNDED = Apply("narrow_f16", (Apply("load_f16", (X,)) + Apply("load_f16", (X,)),))


def shown(value: Expr, count: int = 7, *, simd: bool = True, kind: str = "f16") -> list[str]:
    """A loop that stores a value in each iteration."""
    loop = For("i", count, (Assign(item(Name("y"), counter("i", count)), value),), simd=simd)
    made = scalar_conversions([loop], KernelTypes({"x": Pointer(kind)}))
    return [line.strip() for line in text(made).splitlines()[:-1]]


def test_loops_that_fill_no_vector_round_one_by_one():
    assert shown(Apply("store_f16", (ROUNDED,))) == [
        "for (s64 i = 0; i < 7; i++) {",
        "y[i] = store_one_f16(load_one_f16(x[i]) + load_one_f16(x[i]));",
    ]


def test_others_are_not_in_lanes_already():
    assert shown(ROUNDED, 64, simd=False)[1:] == [
        "y[i] = narrow_one_f16(load_one_f16(x[i]) + load_one_f16(x[i]));"
    ]


@pytest.mark.parametrize(
    ("value", "count", "kind"),
    [
        (ROUNDED, 16, "f16"),
        (Apply("load_f16", (X,)), 7, "f16"),
        (Apply("store_f16", (Literal(1.0, "f32"),)), 7, "f16"),
        (Apply("store_f16", (Apply("exp_f32", (X,)),)), 7, "f16"),
        (ROUNDED, 7, "f32"),
    ],
    ids=["a vector", "loads alone", "a literal", "a long function", "no f16"],
)
def test_loops_stay_in_lanes(value, count, kind):
    lines = shown(value, count, kind=kind)
    assert lines[0] == "#pragma omp simd"
    assert "_one_" not in lines[-1]


def test_every_number_is_rounded_as_in_lanes():
    """Products of all f16, rows of three by rows of seven, and sums scattered one by one."""
    codes = np.random.default_rng(16).permutation(np.arange(1 << 16, dtype=np.uint16))[: 7 * 9000]
    x = codes.view(np.float16).reshape(9000, 7)
    y = np.float16([1, -0.5, 3e-5]) * np.ones((9000, 1), np.float16)
    at = np.random.default_rng(17).integers(-1, 1001, 9000, np.int32)
    module = hlo.parse("""HloModule m
sum { a = f16[] parameter(0)  b = f16[] parameter(1)  ROOT c = f16[] add(a, b) }
ENTRY e {
  x = f16[9000,7] parameter(0)
  y = f16[9000,3] parameter(1)
  at = s32[9000,1] parameter(2)
  a = f16[9000,3,7] broadcast(y), dimensions={0,1}
  b = f16[9000,3,7] broadcast(x), dimensions={0,2}
  products = f16[9000,3,7] multiply(a, b)
  zero = f16[] constant(-0)
  zeros = f16[1000,7] broadcast(zero), dimensions={}
  sums = f16[1000,7] scatter(zeros, at, x), update_window_dims={1}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
  ROOT t = (f16[9000,3,7], f16[1000,7]) tuple(products, sums)
}""")
    given = x, y, at.reshape(9000, 1)
    executable = emit_c.compile(module)
    assert "store_one_f16" in executable.source
    for mine, meant in zip(executable(*given), interpreter.evaluate(module, *given), strict=True):
        np.testing.assert_array_equal(mine, meant)
        np.testing.assert_array_equal(np.signbit(mine[mine == 0]), np.signbit(meant[meant == 0]))
