"""What a profile says about kernels."""

import ctypes
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import hlo
from emit_c.executable import profile as profiling
from emit_c.executable.profile import Profile, Roofline, profile, reading, roofline
from emit_c.program.call_sites import site
from hlo_tools.running.watching import table
from interpreter import evaluate

SOFTMAX = """HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[64,32] parameter(0)
  w = f32[32,16] parameter(1)
  y = f32[64,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[64,16] exponential(y)
  zero = f32[] constant(0)
  ROOT r = f32[64] reduce(z, zero), dimensions={1}, to_apply=add
}"""
LOOP = """HloModule m
holds { s = (s32[], f32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(7)  ROOT c = pred[] compare(i, n), direction=LT }
iteration { s = (s32[], f32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[100] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)
  y = f32[100] sine(x)  ROOT r = (s32[], f32[100]) tuple(j, y) }
ENTRY e { i = s32[] parameter(0)  x = f32[100] parameter(1)  s = (s32[], f32[100]) tuple(i, x)
  ROOT w = (s32[], f32[100]) while(s), condition=holds, body=iteration }"""


@pytest.fixture
def found():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in ((64, 32), (32, 16))]
    return profile(hlo.parse(SOFTMAX), arrays), arrays


def test_the_value_is_the_modules(found):
    result, arrays = found
    want = evaluate(hlo.parse(SOFTMAX), *arrays)
    assert np.allclose(result.value, want, rtol=1e-5)


def test_every_kernel_has_a_row_and_an_event(found):
    result, _ = found
    by_opcode = {row.sites[0].instruction.opcode: row for row in result.rows()}
    assert set(by_opcode) == {"dot", "exponential", "reduce"}
    assert by_opcode["dot"].flops == 2 * 64 * 32 * 16
    assert by_opcode["dot"].bytes == 4 * (64 * 32 + 32 * 16 + 64 * 16)
    assert by_opcode["exponential"].sites[0].transcendentals == 64 * 16
    assert all(row.calls == 1 and row.seconds >= 0 for row in by_opcode.values())
    assert sum(row.seconds for row in result.rows()) <= result.seconds
    assert result.lost == 0


def test_the_fastest_of_several_runs_is_shown(monkeypatch):
    runs: list[Profile] = []
    once = profiling._once

    def kept(*arguments):
        runs.append(once(*arguments))
        return runs[-1]

    monkeypatch.setenv("PYHLO_SUBNORMALS", "flush")
    monkeypatch.setattr(profiling, "_once", kept)
    result = profile(hlo.parse(SOFTMAX), [np.ones(s, np.float32) for s in ((64, 32), (32, 16))])
    assert len(runs) > 1
    assert result.seconds == min(run.seconds for run in runs)


def test_subnormal_numbers_that_slow_a_kernel_are_told(found, monkeypatch):
    """Where they are kept, a profile compares with a run that flushes: here the dot alone gains."""
    result, arrays = found
    events = result.events.copy()
    events["begin"] = [0, 20_000, 30_000]
    events["end"] = [10_000, 21_000, 31_000]
    fast = replace(result, events=events, slowed={})
    events = events.copy()
    events["end"] = [40_000, 21_100, 31_000]
    slow = replace(result, events=events)
    runs = {"keep": slow, "flush": fast}
    monkeypatch.setattr(profiling, "_profiled", lambda *given: runs[given[-1].subnormals])
    monkeypatch.setenv("PYHLO_SUBNORMALS", "keep")
    told = profile(hlo.parse(SOFTMAX), arrays)
    (kernel,) = {row.sites[0].kernel for row in told.rows() if row.calls} & told.slowed.keys()
    assert told.slowed == {kernel: 4.0}
    assert f"{kernel}: subnormal numbers make it 4.0 times as slow" in str(table(told).caption)
    monkeypatch.setenv("PYHLO_SUBNORMALS", "flush")
    assert not profile(hlo.parse(SOFTMAX), arrays).slowed


def test_the_trace_is_chromes(found):
    result, _ = found
    events = json.loads(result.trace())["traceEvents"]
    assert [event["cat"] for event in events] == ["dot", "exponential", "reduce"]
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)
    assert events[0]["ts"] == 0


def test_a_loops_kernels_are_counted_in_every_iteration():
    result = profile(hlo.parse(LOOP), [np.int32(0), np.ones(100, np.float32)])
    calls = {row.sites[0].instruction.opcode: row.calls for row in result.rows()}
    assert calls["sine"] == 7
    assert calls["compare"] == 8


def test_the_roofline_is_the_longer_of_two_times():
    module = hlo.parse(SOFTMAX)
    dot = module.entry.instructions[2]
    assert dot.opcode == "dot"
    cost = site("k", dot, [])
    assert Roofline(1e9, 1e30).seconds(cost) == pytest.approx(cost.bytes / 1e9)
    assert Roofline(1e30, 1e9).seconds(cost) == pytest.approx(cost.flops / 1e9)


def test_the_machine_has_a_roofline():
    found = roofline()
    assert found.bytes_per_second > 1e8
    assert found.flops_per_second > 1e8


def test_all_of_an_array_is_read(monkeypatch):
    """Of whole cache lines, each byte is 1, and a thread's sums are those of the lines it read."""
    slots, loops, asked = profiling.slots(), profiling._loops(), []
    spy = SimpleNamespace(roofline_read=lambda *arguments: asked.extend(arguments))
    monkeypatch.setattr(profiling, "_loops", lambda: spy)
    run = reading(1000)
    run()
    memory, lines, _ = asked
    sums = np.zeros((slots, 8), np.uint64)
    loops.roofline_read(memory, lines, sums.ctypes.data_as(ctypes.c_void_p))
    assert lines.value == 16
    assert sums.sum() == 16 * 8 * 0x0101010101010101
