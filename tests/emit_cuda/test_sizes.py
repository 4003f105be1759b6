"""Sizes of launches: of updates in place, of the largest of many, and of dynamic shapes."""

import numpy as np
import pytest
from cuda_batches import ARCHITECTURES

import emit_cuda
import hlo
import interpreter
from emit_cuda import nvrtc
from emit_cuda.host import HostDevice
from optimizer.pipelines import prepare

UPDATE = """HloModule m, input_output_alias={ {}: (0, {}, must-alias) }
ENTRY e {
  x = f32[1000,64] parameter(0)  u = f32[2,64] parameter(1)  i = s32[] parameter(2)
  z = s32[] constant(0)
  ROOT r = f32[1000,64] dynamic-update-slice(x, u, i, z)
}"""
LARGEST = """HloModule m
ENTRY e { x = f32[8,1000] parameter(0)
  ROOT r = (f32[8,5], s32[8,5]) topk(x), k=5, largest=true }"""
DYNAMIC = """HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[<=300] parameter(0)  n = s32[] parameter(1)
  y = f32[<=300] multiply(x, x)
  z = f32[] constant(0)
  s = f32[] reduce(y, z), dimensions={0}, to_apply=add
  c = f32[<=300] set-dimension-size(y, n), dimensions={0}
  r = f32[<=300] reverse(c), dimensions={0}
  ROOT t = (f32[], f32[<=300]) tuple(s, r)
}"""


def test_an_update_in_place_is_one_launch_of_the_updates_size():
    (launch,) = emit_cuda.emit(prepare(hlo.parse(UPDATE))).steps
    assert (launch.kind, launch.grid, launch.block) == ("parallel loops", (1, 1, 1), (128, 1, 1))


@pytest.mark.parametrize("text", [UPDATE, LARGEST], ids=["update", "largest"])
def test_the_values_are_the_interpreters(text):
    module, random = hlo.parse(text), np.random.default_rng(0)
    arguments = [
        random.normal(size=p.shape.dims).astype(np.float32) if p.shape.dims else np.int32(999)
        for p in module.entry.parameters
    ]
    executable = emit_cuda.compile(module, HostDevice(checked=True, seed=1))
    made, wanted = executable(*arguments), interpreter.evaluate(module, *arguments)
    for one, other in zip(
        *((v if isinstance(v, tuple) else (v,)) for v in (made, wanted)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_of_long_rows_blocks_take_parts():
    text = LARGEST.replace("[8,1000]", "[3,20000]").replace("[8,5]", "[3,7]").replace("k=5", "k=7")
    module, random = hlo.parse(text), np.random.default_rng(0)
    executable = emit_cuda.compile(module, HostDevice())
    assert [step.grid for step in executable.program.steps] == [(6, 1, 1), (3, 1, 1)]
    # Many are equal; NaNs are larger than all else, or smaller, by their sign.
    x = random.integers(0, 50, (3, 20000)).astype(np.float32)
    x[1, 4000:13000:3000], x[2] = [np.nan, -np.nan, np.inf], -np.nan
    for one, other in zip(executable(x), interpreter.evaluate(module, x), strict=True):
        np.testing.assert_array_equal(one, other)


def test_dynamic_sizes_are_those_of_the_call():
    module = hlo.parse(DYNAMIC)
    executable = emit_cuda.compile(module, HostDevice(checked=True, seed=2))
    for size in (0, 1, 77, 300):
        x = np.random.default_rng(size).normal(size=size).astype(np.float32)
        (total, some), wanted = (
            executable(x, np.int32(size // 2)),
            interpreter.evaluate(module, x, np.int32(size // 2)),
        )
        np.testing.assert_allclose(total, wanted[0], rtol=1e-5)
        np.testing.assert_array_equal(some, wanted[1])
        assert some.shape == (size // 2,)


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_for_a_gpu(architecture):
    for text in (UPDATE, LARGEST, DYNAMIC):
        source = emit_cuda.compile(hlo.parse(text), "host").source
        assert nvrtc.compile(source, architecture).code


def test_a_result_of_run_time_sizes_may_have_any_layout():
    text = """HloModule m
ENTRY e { x = s32[2,3]{0,1} parameter(0)  n = s32[] parameter(1)
  ROOT y = s32[2,<=3]{0,1} set-dimension-size(x, n), dimensions={1} }"""
    module, x = hlo.parse(text), np.arange(6, dtype=np.int32).reshape(2, 3)
    made = emit_cuda.compile(module, HostDevice())(x, np.int32(2))
    np.testing.assert_array_equal(made, x[:, :2])
