"""Loops in lanes whose choices repeat are unrolled; C gives the same values."""

from textwrap import dedent

import numpy as np
import pytest
from numbered_names import Names

import emit_c
import hlo
from codegen.expressions import Group, Index, Name, binary, indexed, item
from codegen.printer import text
from codegen.statements import Assign, For, If, Let, LocalVariable
from emit_c.kernels.unroll_periods import unroll_periods
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare
from optimizer.analysis.indexing import counter

NUMBER = counter("i", 64)


def every(number, divisor):
    """The condition that a divisor divides a number."""
    return binary("==", Group(indexed(number)) % divisor, 0)


def chosen(condition, first, second):
    """A loop that stores the elements of one of two arrays."""
    sides = (
        (Let("f32", name, item(Name(name.upper()), number)), Assign(Name("v"), Name(name)))
        for name, number in (("a", first), ("b", second))
    )
    choice = LocalVariable("f32", "v"), If(condition, *sides)
    return (*choice, Assign(item(Name("y"), NUMBER), Name("v")))


def loop(*statements, stop=64, **options):
    return For("i", stop, statements, simd=True, **options)


def test_even_and_odd_iterations_have_statements_of_their_own():
    made = unroll_periods(
        Names(), [loop(*chosen(every(NUMBER, 2), NUMBER // 2, (NUMBER + -1) // 2))]
    )
    assert dedent(text(made)) == (
        "#pragma omp simd\n"
        "for (s64 i_1 = 0; i_1 < 32; i_1++) {\n"
        "  const f32 a_2 = A[i_1];\n"
        "  const f32 v_3 = a_2;\n"
        "  y[i_1 * 2] = v_3;\n"
        "  const f32 b_4 = B[i_1];\n"
        "  const f32 v_5 = b_4;\n"
        "  y[i_1 * 2 + 1] = v_5;\n"
        "}\n"
    )


def test_the_first_iteration_may_come_before_the_first_multiple():
    made = text(
        unroll_periods(Names(), [loop(*chosen(every(NUMBER + -1, 2), NUMBER // 2, NUMBER))])
    )
    assert made.index("y[i_1 * 2] = ") < made.index("A[i_1]")


def test_what_is_left_over_runs_alone():
    made = unroll_periods(Names(), [loop(*chosen(every(NUMBER, 3), NUMBER // 3, NUMBER), stop=50)])
    assert "i_1 < 16;" in text(made)
    assert "y[48] = " in text(made)
    assert "y[49] = " in text(made)


def test_conditions_that_ranges_decide_are_decided():
    inner = chosen(binary("<", Index(NUMBER // 2), 1), NUMBER, NUMBER + 5)
    outer = chosen(every(NUMBER + -1, 2), NUMBER // 2, NUMBER)
    made = unroll_periods(Names(), [loop(*inner, *outer, start=2)])
    assert "if" not in text(made)


@pytest.mark.parametrize("size", [9, 40, 63])
@pytest.mark.parametrize("interior", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["f32", "u8", "f64", "bf16"])
def test_padding_between_elements(kind, interior, size):
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {kind}[3,{size}] parameter(0)
  y = {kind}[3,{size}] parameter(1)
  z = {kind}[] constant(0)
  a = {kind}[3,{size * (interior + 1) + 1}] pad(x, z), padding=0_0x0_{interior + 1}_{interior}
  b = {kind}[3,{size * (interior + 1) + 1}] pad(y, z), padding=0_0x1_{interior}_{interior}
  ROOT s = {kind}[3,{size * (interior + 1) + 1}] add(a, b)
}}""")
    made = np.random.default_rng(size)
    x, y = (made.integers(0, 9, (3, size)).astype(dtype_of(module)) for _ in range(2))
    assert compare(emit_c.compile(module)(x, y), evaluate(module, x, y), BITS) is None


def dtype_of(module):
    return module.entry.parameters[0].shape.element_type.dtype
