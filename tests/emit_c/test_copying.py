"""What is packed without a change is copied by calls, and transposed where it lies otherwise."""

import re
import subprocess

import numpy as np
import pytest
from strategies.compiled import check, whole

import emit_c
import hlo
from emit_c.executable.toolchain import MEANING
from hlo.support.compiler import find_compiler

TYPES = ("f32", "f64", "s32")


def product(text):
    """The C of a module that gives what the interpreter gives, for small whole numbers."""
    return check(f"HloModule m\nENTRY e {{\n{text}\n}}", arguments=whole(-3, 4)).source


TRANSPOSED = """x = {t}[40,{d}] parameter(0)  y = {t}[{n},{d}] parameter(1)
ROOT r = {t}[40,{n}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}"""


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("depth", [7, 16, 37, 300])
@pytest.mark.parametrize("columns", [12, 32, 41, 600])
def test_columns_are_transposed(kind, depth, columns):
    text = TRANSPOSED.format(t=kind, d=depth, n=columns)
    source = product(text)
    assert "  hlo_transpose_u" in source


@pytest.mark.parametrize("columns", [12, 1056, 1100, 6000])
def test_rows_are_copied_by_a_call(columns):
    text = f"""x = f32[199,4] parameter(0)  y = f32[4,{columns}] parameter(1)
ROOT r = f32[199,{columns}] dot(x, y), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"""
    source = product(text)
    assert re.search(r"__builtin_memcpy\((packed|panel) ", source)
    assert "#pragma omp simd" not in source


def test_a_padded_input_is_copied_row_by_row():
    text = """x = f32[2,9,9,4] parameter(0)  w = f32[3,3,4,40] parameter(1)
ROOT r = f32[2,9,9,40] convolution(x, w), window={size=3x3 pad=1_1x1_1},
  dim_labels=b01f_01io->b01f"""
    source = product(text)
    assert "__builtin_memcpy(padded + " in source
    assert "#pragma omp simd" not in source


def test_taps_and_features_that_lie_side_by_side_are_one_column():
    text = """x = f32[2,5,20,20] parameter(0)  w = f32[40,5,3,3] parameter(1)
ROOT r = f32[2,40,18,18] convolution(x, w), window={size=3x3}, dim_labels=bf01_oi01->bf01"""
    source = product(text)
    assert re.search(r"  hlo_transpose_u32\(.*, 45, \d+, \d+, 45\);", source)


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
    source = product(TRANSPOSED.format(t="f32", d=576, n=13))
    (tmp_path / "module.c").write_text(source)
    flags = [*MEANING, effort, "-fopenmp-simd", "-Wall", "-Wextra", "-Werror", "-c", "module.c"]
    subprocess.run([*find_compiler(), *flags], cwd=tmp_path, check=True)
