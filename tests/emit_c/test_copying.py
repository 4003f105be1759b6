"""What is packed without a change is copied by calls, and transposed where it lies otherwise."""

import subprocess

import numpy as np
import pytest
from emitted import checked
from products import FEW, ROWS, product

import emit_c
import hlo
from codegen.expressions import Literal
from codegen.statements import Call
from emit_c.executable.toolchain import MEANING
from hlo.support.compiler import find_compiler


@pytest.mark.parametrize("kind", ["f32", "f64", "s32"])
@pytest.mark.parametrize("depth", [7, 16, 37, 300])
@pytest.mark.parametrize("columns", [12, 32, 41, 600])
def test_columns_are_transposed(kind, depth, columns):
    sizes = f"40,{depth}", f"{columns},{depth}", f"40,{columns}"
    module = product(*(f"{kind}[{each}]" for each in sizes), ROWS)
    assert checked(module, arguments=FEW).has("hlo_transpose_u")


@pytest.mark.parametrize("columns", [12, 1056, 1100, 6000])
def test_rows_are_copied_by_a_call(columns):
    made = checked(product("199,4", f"4,{columns}", f"199,{columns}"), arguments=FEW)
    assert "__builtin_memcpy" in made.names
    assert not any(loop.simd for loop in made.loops)


def test_a_padded_input_is_copied_row_by_row():
    window = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
    module = product("2,9,9,4", "3,3,4,40", "2,9,9,40", window, opcode="convolution")
    made = checked(module, arguments=FEW)
    assert {"__builtin_memcpy", "padded"} <= made.names
    assert not any(loop.simd for loop in made.loops)


def test_taps_and_features_that_lie_side_by_side_are_one_column():
    """A transpose of 45 columns, 3 * 3 taps of 5 features."""
    window = "window={size=3x3}, dim_labels=bf01_oi01->bf01"
    module = product("2,5,20,20", "40,5,3,3", "2,40,18,18", window, opcode="convolution")
    made = checked(module, arguments=FEW)
    calls = [s for s in made.nested if isinstance(s, Call) and "transpose" in str(s.function)]
    assert {call.arguments[-1] for call in calls} == {Literal(45)}


def test_a_kernel_that_is_cut_out_at_run_time_is_copied_element_by_element():
    """Where it begins is known inside of the loop only."""
    text = """c { p = f32[64,80] parameter(0)  i = s32[] parameter(1)  x = f32[30,40] parameter(2)
  zero = s32[] constant(0)
  y = f32[40,80] dynamic-slice(p, i, zero), dynamic_slice_sizes={40,80}
  ROOT d = f32[30,80] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }
ENTRY e { p = f32[64,80] parameter(0)  i = s32[] parameter(1)  x = f32[30,40] parameter(2)
  ROOT r = f32[30,80] fusion(p, i, x), kind=kLoop, calls=c }"""
    module = hlo.parse(f"HloModule m\n{text}")
    generator = np.random.default_rng(0)
    p, x = (generator.integers(-3, 4, s).astype(np.float32) for s in ((64, 80), (30, 40)))
    for optimize in (False, True):
        found = emit_c.compile(module, optimize=optimize)(p, np.int32(9), x)
        np.testing.assert_array_equal(found, x @ p[9:49])


@pytest.mark.parametrize("effort", ["-O1", "-O2", "-O3"])
def test_a_compiler_finds_nothing_to_warn_of(effort, tmp_path):
    source = emit_c.compile(product("40,576", "13,576", "40,13", ROWS)).source
    (tmp_path / "module.c").write_text(source)
    flags = [*MEANING, effort, "-fopenmp-simd", "-Wall", "-Wextra", "-Werror", "-c", "module.c"]
    subprocess.run([*find_compiler(), *flags], cwd=tmp_path, check=True)
