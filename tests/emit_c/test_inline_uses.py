"""A value that is used once stands at its use, if it means the same there."""

import pytest
from strategies.compiled import check
from written import Assign, For, Let, Variable

from codegen.kinds import Pointer
from codegen.printer import text
from codegen.schedule.types import KernelTypes
from emit_c.kernels.inline_uses import inline_uses

ARGUMENTS = {
    "y": Pointer("f32", restrict=True),
    "x": Pointer("f32", const=True, restrict=True),
    "b": Pointer("bf16", const=True),
}
X = Let("f32", "a", "x[i]")


def lines(*statements):
    made = inline_uses(statements, KernelTypes(ARGUMENTS, statements))
    return [line.strip() for line in text(made).splitlines()]


def test_loads_stand_in_expressions_and_results_where_they_are_stored():
    made = lines(X, Let("f32", "c", "x[j + 1]"), Let("f32", "s", "a + c"), Assign("y[i]", "s"))
    assert made == ["y[i] = x[i] + x[j + 1];"]


def test_narrow_numbers_are_loaded_in_expressions_too():
    assert lines(Let("f32", "a", "load_bf16(b[i])"), Assign("y[i]", "-a")) == [
        "y[i] = -load_bf16(b[i]);"
    ]


def test_inside_of_loops():
    made = lines(For("i", 8, (X, Assign("y[i]", "a")), simd=True))
    assert made == ["#pragma omp simd", "for (s64 i = 0; i < 8; i++) {", "y[i] = x[i];", "}"]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param((Assign("y[0]", "1"), Assign("y[i]", "a + 1")), id="what a store may change"),
        pytest.param((Assign("y[i]", "p ? a : 0"),), id="a choice"),
        pytest.param((Assign("y[i]", "a * a"),), id="twice"),
        pytest.param((For("k", 4, (Assign("y[k]", "a"),)),), id="in each iteration"),
        pytest.param((Variable("s32", "info", "call(x)"), Assign("y[i]", "a")), id="a call"),
    ],
)
def test_loads_that_stay(after):
    assert lines(X, *after)[0] == "const f32 a = x[i];"


def test_other_types_stay():
    made = lines(Let("f64", "a", "x[i]"), Let("f64", "c", "a * 2"), Assign("y[i]", "c"))
    assert made == ["const f64 a = x[i];", "const f64 c = a * 2;", "y[i] = c;"]


def test_the_last_value_of_a_variable_needs_no_name():
    total, copy = Variable("f32", "total", "0"), Let("f32", "sum", "total")
    fold = For("i", 8, (Assign("total", "total + x[i]"),))
    assert lines(total, fold, copy, Assign("y[0]", "sum * sum"))[-1] == "y[0] = total * total;"
    later = lines(total, fold, copy, Assign("total", "0"), Assign("y[0]", "sum * sum"))
    assert "const f32 sum = total;" in later


def test_a_reader_sees_arrays_in_a_kernel():
    executable = check("""HloModule m
ENTRY e {
  x = f32[8,128] parameter(0)
  y = f32[8,128] parameter(1)
  p = f32[8,128] multiply(x, y)
  ROOT z = f32[8,128] add(p, x)
}
""")
    assert "p[i] = x[i] * y[i];" in executable.source
