"""Long functions of numbers: inlined into loops of many iterations, called by loops of few."""

import re
import subprocess

import numpy as np
import pytest
from emitted import emitted
from written import For, Let

import emit_c
import hlo
from emit_c.kernels.peephole import outline_math
from hlo.support import compiler

TANH = (Let("f32", "y", "tanh_f32(x[i])"),)
# What long functions compute, each from x and y.
LONG = {
    "f32": "exponential(x) log(x) exponential-minus-one(x) log-plus-one(x) tanh(x) logistic(x) "
    "erf(x) sine(x) cosine(x) tan(x) atan2(x,y) power(x,y)",
    "f64": "exponential(x) log(x) exponential-minus-one(x) log-plus-one(x) tanh(x) logistic(x) "
    "sine(x) cosine(x) tan(x) atan2(x,y) power(x,y)",
}


def test_what_is_left_of_many_rows_is_not_few():
    rows = For("j", 1000, (For("i", 41, TANH, simd=True),))
    assert outline_math.outline_math([rows]) == (rows,)
    assert outline_math.outline_math(rows.body, times=1000) == rows.body
    assert outline_math.outline_math(rows.body, times=100) != rows.body


def test_a_kernel_in_a_loop_is_inlined_as_often_as_the_loop_runs():
    module = hlo.parse(
        """HloModule steps
body {
  s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[1000] get-tuple-element(s), index=1
  y = f32[1000] tanh(x)
  ROOT t = (s32[], f32[1000]) tuple(next, y)
}
cond {
  s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(TRIPS)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY e {
  z = s32[] constant(0)
  x = f32[1000] parameter(0)
  t = (s32[], f32[1000]) tuple(z, x)
  ROOT w = (s32[], f32[1000]) while(t), condition=cond, body=body, backend_config={NOTE}
}""".replace("NOTE", '"known_trip_count":{"n":"TRIPS"}').replace("TRIPS", "1000")
    )
    seldom = str(module).replace("1000}", "10}").replace('"1000"', '"10"').replace("(1000)", "(10)")
    assert "tanh_f32" in emitted(module, optimize=False).callees
    assert "hlo_tanh_f32" in emitted(seldom, optimize=False).callees


def module(kind, computed, size):
    """All numbers computed, but chosen only where x is positive: so they could be in branches."""
    lines = [
        f"  v{k} = {kind}[{size}] {each.replace(',', ', ')}\n"
        f"  sel{k} = {kind}[{size}] select(p, v{k}, y)"
        for k, each in enumerate(computed)
    ]
    shapes = ", ".join([f"{kind}[{size}]"] * 2 * len(computed))
    names = ", ".join(f"v{k}, sel{k}" for k in range(len(computed)))
    return hlo.parse(
        f"HloModule m\nENTRY e {{\n  x = {kind}[{size}] parameter(0)\n"
        f"  y = {kind}[{size}] parameter(1)\n  z = {kind}[] constant(0)\n"
        f"  zs = {kind}[{size}] broadcast(z), dimensions={{}}\n"
        f"  p = pred[{size}] compare(x, zs), direction=GT\n"
        + "\n".join(lines)
        + f"\n  ROOT t = ({shapes}) tuple({names})\n}}"
    )


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("size", [1, 7, 8, 16, 100])
def test_calls_give_the_same_bits(kind, size, monkeypatch):
    made = module(kind, LONG[kind].split(), size)
    x = np.random.default_rng(size).normal(size=size).astype(kind.replace("f", "float")) * 20
    x[::5] = [-0.0, np.inf, -np.inf, np.nan, 1e-40, 1e30, 1.0][size % 7]
    y = x[::-1].copy()
    called = emit_c.compile(made)(x, y)
    monkeypatch.setattr(outline_math, "FEW_CALLS", 0)
    inlined = emit_c.compile(made)(x, y)
    assert [a.tobytes() for a in called] == [a.tobytes() for a in inlined]


def symbols_of(made):
    """The names of the functions that a library calls."""
    return subprocess.run(
        ["nm", "-D", "-u", str(made.library)], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(not compiler.calls_with_vectors(), reason="no vectors are handed over")
@pytest.mark.parametrize("size", [512, 1 << 20])
def test_a_choice_of_complex_numbers_by_a_magnitude_runs_in_lanes(size):
    """Once for both parts, and for the count: a call is made once, and inlined code three times."""
    of = f"c64[{size}]"
    made = hlo.parse(
        f"HloModule m\nENTRY e {{\n  z = {of} parameter(0)\n  n = s32[{size}] parameter(1)\n"
        f"  size = f32[{size}] abs(z)\n  one = f32[] constant(1)\n"
        f"  ones = f32[{size}] broadcast(one), dimensions={{}}\n"
        f"  in = pred[{size}] compare(size, ones), direction=LT\n  square = {of} multiply(z, z)\n"
        f"  next = {of} select(in, square, z)\n  counted = s32[{size}] convert(in)\n"
        f"  sum = s32[{size}] add(n, counted)\n  ROOT t = ({of}, s32[{size}]) tuple(next, sum)\n}}"
    )
    compiled = emit_c.compile(made)
    assert re.search(r"_ZGV\w+_hlo_magnitude_f32", symbols_of(compiled))
    assert not re.search(r"U hlo_magnitude_f32", symbols_of(compiled))
    generator = np.random.default_rng(3)
    z = (generator.normal(size=size) + 1j * generator.normal(size=size)).astype(np.complex64)
    got, count = compiled(z, np.zeros(size, np.int32))
    inside = abs(z) < 1
    np.testing.assert_array_equal(count, inside)
    np.testing.assert_allclose(got, np.where(inside, z * z, z), rtol=1e-5)


@pytest.mark.skipif(not compiler.calls_with_vectors(), reason="no vectors are handed over")
@pytest.mark.parametrize("each", LONG["f32"].split())
def test_loops_in_lanes_call_functions_of_vectors(each):
    symbols = symbols_of(emit_c.compile(module("f32", [each], 64)))
    assert re.search(r"_ZGV\w+_hlo_\w+", symbols)
    assert not re.search(r"U hlo_\w+_f32", symbols)  # 64 numbers fill vectors


def test_where_vectors_can_not_be_handed_over_functions_are_inlined(monkeypatch):
    told = "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n"
    monkeypatch.setattr(compiler, "version_text", lambda _: told)
    for each, called in (
        (module("f32", ["tanh(x)"], 64), "tanh"),
        (sine_of_complex(), "sine"),
    ):
        made = emitted(each)
        assert any(called in name for name in made.callees)
        assert not made.program.parts.tiles


def sine_of_complex():
    """A module of the sines of a hundred complex numbers."""
    return hlo.parse(
        "HloModule m\nENTRY e {\n  p = c64[100] parameter(0)\n  ROOT r = c64[100] sine(p)\n}\n"
    )


def test_complex_functions_call_those_of_their_parts():
    """The complex function is inlined; what it is made of is compiled once for all modules."""
    made = emitted(sine_of_complex())
    assert "hlo_sine_c64" in made.callees
    apart = made.program.parts.tiles
    assert "hlo_sine_f32" in apart
    assert "hlo_sine_c64" not in apart
