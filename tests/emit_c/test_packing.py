"""Kernels that are constants: packed once, and the same sums."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import emit_c
import hlo
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate


def literal(array):
    """An array as HLO writes it."""
    if array.ndim == 0:
        return str(int(array))
    return "{" + ", ".join(map(literal, array)) + "}"


def numbers(dims, seed):
    return np.random.default_rng(seed).integers(-2, 3, dims)


def spelled(kind, dims):
    return f"{kind}[{','.join(map(str, dims))}]"


def check(shape, kernel, result, kind, how, target=None):
    """A product with a constant is what the interpreter says; gives the C."""
    opcode, attributes = how
    weights = literal(numbers(kernel, 0))
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {spelled(kind, shape)} parameter(0)
  w = {spelled(kind, kernel)} constant({weights})
  ROOT d = {spelled(target or kind, result)} {opcode}(x, w), {attributes}
}}""")
    x = numbers(shape, 1).astype(ELEMENT_TYPES[kind].dtype)
    executable = emit_c.compile(module, optimize=False)
    np.testing.assert_array_equal(executable(x), evaluate(module, x))
    return executable.source


PLAIN = "dot", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
BATCH = (
    "dot",
    "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}",
)


@given(st.data())
def test_dots(data):
    kind = data.draw(st.sampled_from(["f32", "f32", "bf16", "f64", "s32"]))
    m, k, n = (data.draw(st.sampled_from([5, 17, 33, 70, 100])) for _ in range(3))
    source = check((m, k), (k, n), (m, n), kind, PLAIN)
    # Where the constant is the tiles' input, it is the parameter that is packed.
    assert not re.search(r"w_constant\[[^;]*;\n(?:.*\n)?? *packed\[", source)
    assert "_packed" in source or "w_constant" in source


def test_sums_of_bytes():
    assert "_packed" in check((70, 100), (100, 40), (70, 40), "s8", PLAIN, "s32")


def test_panels_of_large_kernels():
    assert "panel" not in check((70, 512), (512, 320), (70, 320), "f32", PLAIN)


def test_batches():
    assert "_packed" in check((3, 70, 40), (3, 40, 50), (3, 70, 50), "f32", BATCH)


@pytest.mark.parametrize(
    ("window", "size"),
    [
        ("size=3x3 pad=1_1x1_1", 14),
        ("size=3x3 pad=1_1x1_1 rhs_reversal=1x1", 14),
        ("size=3x3 pad=2_2x2_2 lhs_dilate=2x2", 29),
        ("size=3x3 stride=2x2 pad=1_1x1_1", 7),
    ],
)
def test_convolutions(window, size):
    how = "convolution", f"window={{{window}}}, dim_labels=b01f_01io->b01f"
    shape, kernel = (2, 14, 14, 8), (3, 3, 8, 24)
    assert "_packed" in check(shape, kernel, (2, size, size, 24), "f32", how)


def test_equal_layers_share_a_kernel():
    shapes = "p = f32[70,64] parameter(0)"
    weights = [literal(numbers((64, 64), seed)) for seed in (0, 1)]
    how = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  {shapes}
  first = f32[64,64] constant({weights[0]})
  second = f32[64,64] constant({weights[1]})
  y = f32[70,64] dot(p, first), {how}
  ROOT z = f32[70,64] dot(y, second), {how}
}}""")
    x = numbers((70, 64), 2).astype(np.float32)
    executable = emit_c.compile(module, optimize=False)
    np.testing.assert_array_equal(executable(x), evaluate(module, x))
    assert executable.source.count("\nstatic void y_kernel(") == 1
    assert "static void z_kernel(" not in executable.source


def test_one_number_is_no_array():
    how = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = f32[70,64] parameter(0)
  c = f32[] constant(2)
  w = f32[64,64] broadcast(c), dimensions={{}}
  ROOT y = f32[70,64] dot(x, w), {how}
}}""")
    x = numbers((70, 64), 2).astype(np.float32)
    executable = emit_c.compile(module)
    np.testing.assert_array_equal(executable(x), evaluate(module, x))
    assert "static const f32" not in executable.source
