"""Scatters whose windows threads share: the same as one update after the other."""

import numpy as np
import pytest
from emitted import emitted
from strategies.compiled import check

import emit_c
import hlo
from emit_c.executable.runtime import set_threads
from interpreter import evaluate

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }"
ROWS = """x = f32[20,4096] parameter(0)
i = s32[50] parameter(1)
u = f32[50,4096] parameter(2)
ROOT r = f32[20,4096] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"""
# Windows begin anywhere along the last dimension, so that parts of them overlap.
PLACES = """x = f32[2,4140] parameter(0)
i = s32[50] parameter(1)
u = f32[50,2,4096] parameter(2)
ROOT r = f32[2,4140] scatter(x, i, u), update_window_dims={1,2}, inserted_window_dims={},
  scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=add"""
# The last dimension of the updates is none of the window's.
ACROSS = """x = f32[4096,20] parameter(0)
i = s32[50] parameter(1)
u = f32[4096,50] parameter(2)
ROOT r = f32[4096,20] scatter(x, i, u), update_window_dims={0}, inserted_window_dims={1},
  scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=add"""


@pytest.mark.parametrize(("body", "parts"), [(ROWS, True), (PLACES, False), (ACROSS, False)])
def test_threads_share_the_windows_of_a_scatter(monkeypatch, body, parts):
    monkeypatch.setattr("emit_c.kernels.parallelize.LEAST_WORK", 64)
    module = hlo.parse(f"HloModule m\n{ADD}\nENTRY e {{\n{body}\n}}")
    executable = emit_c.compile(module, optimize=False)
    assert ("part" in emitted(module, optimize=False).names) == parts
    generator = np.random.default_rng(0)
    shapes = [parameter.shape.dims for parameter in module.entry.parameters]
    x, updates = (generator.standard_normal(shapes[k]).astype(np.float32) for k in (0, 2))
    indices = generator.integers(-2, 22, shapes[1]).astype(np.int32)
    wanted = evaluate(module, x, indices, updates)
    before = set_threads(2)
    try:
        np.testing.assert_array_equal(executable(x, indices, updates), wanted)
    finally:
        set_threads(before)


@pytest.mark.parametrize("rows", [100, 600])
def test_threads_share_large_copies(rows):
    text = f"""HloModule m
ENTRY e {{
x = f32[{rows},700] parameter(0)
u = f32[1,700] parameter(1)
i = s32[] parameter(2)
z = s32[] constant(0)
ROOT r = f32[{rows},700] dynamic-update-slice(x, u, i, z)
}}"""
    module = hlo.parse(text)
    assert ("copy_many" in emitted(module).program.parts.calls.mentions) == (rows == 600)
    x = np.random.default_rng(0).standard_normal((rows, 700)).astype(np.float32)
    arguments = x, np.ones((1, 700), np.float32), np.int32(7)
    check(module, optimize=True, arguments=arguments)
