"""Run-time sizes in C: arrays of the bounds, of which only what counts is seen."""

import numpy as np
import pytest
from strategies.compiled import entry

import emit_c
import hlo
import interpreter
from interpreter.compare import ROUNDING, compare

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }"
ADD += "\nmax { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }"
SIZED = (
    "x = f32[4,6] parameter(0)\nn = s32[] parameter(1)\nd = f32[4,<=6] set-dimension-size(x, n),"
)
SIZED += " dimensions={1}\n"
BODIES = {
    "elementwise": "y = f32[4,<=6] multiply(d, d)\nROOT r = f32[4,<=6] negate(y)",
    "size": "y = f32[4,<=6] negate(d)\nROOT r = s32[] get-dimension-size(y), dimensions={1}",
    "sum": "z = f32[] constant(2)\nROOT r = f32[4] reduce(d, z), dimensions={1}, to_apply=add",
    "maximum": "z = f32[] constant(-inf)\nROOT r = f32[] reduce(d, z), dimensions={0,1}, "
    "to_apply=max",
    "kept": "z = f32[] constant(0)\nROOT r = f32[<=6] reduce(d, z), dimensions={0}, to_apply=add",
    "dot": "ROOT r = f32[4,4] dot(d, d), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    "outer": "ROOT r = f32[<=6,<=6] dot(d, d), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "moved": "t = f32[<=6,4] transpose(d), dimensions={1,0}\nu = f32[<=6,2,2] reshape(t)\n"
    "v = f32[<=6,2,1] slice(u), slice={[0:6],[0:2],[1:2]}\n"
    "ROOT r = f32[<=6,2,2] concatenate(v, v), dimensions={2}",
    "spread": "z = f32[] constant(0)\nk = f32[<=6] reduce(d, z), dimensions={0}, to_apply=add\n"
    "b = f32[4,<=6] broadcast(k), dimensions={1}\nROOT r = f32[4,<=6] add(b, d)",
    "shrunk and grown": "m = s32[] constant(2)\ne = f32[4,<=6] set-dimension-size(d, m), "
    "dimensions={1}\nROOT r = f32[4,<=6] set-dimension-size(e, n), dimensions={1}",
    "reshaped": "m = s32[] constant(4)\nROOT r = f32[<=6,<=4] dynamic-reshape(d, n, m)",
    "gathered": "i = s32[6] iota(), iota_dimension=0\n"
    "j = s32[<=6] set-dimension-size(i, n), dimensions={0}\n"
    "ROOT r = f32[4,<=6] gather(x, j), offset_dims={0}, collapsed_slice_dims={1}, "
    "start_index_map={1}, index_vector_dim=1, slice_sizes={4,1}",
    "tuple": "c = f32[4,<=6] cosine(d)\nt = (f32[4,<=6], s32[]) tuple(c, n)\n"
    "ROOT r = ((f32[4,<=6], s32[]), f32[4,6]) tuple(t, x)",
    "called": "ROOT r = f32[4,<=6] call(d), to_apply=twice",
    "static again": "p = (f32[4,6], s32[], s32[]) custom-call(d), "
    'custom_call_target="PadToStatic"\n'
    "y = f32[4,6] get-tuple-element(p), index=0\nROOT r = f32[4,6] negate(y)",
}
TWICE = "\ntwice { q = f32[4,<=6] parameter(0)  ROOT t = f32[4,<=6] add(q, q) }"


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_only_what_counts_is_seen(name, optimize):
    module = hlo.parse(entry(SIZED + BODIES[name], ADD + TWICE))
    executable = emit_c.compile(module, optimize=optimize)
    x = np.random.default_rng(3).standard_normal((4, 6)).astype(np.float32)
    for size in (0, 3, 6):
        arguments = (x, np.int32(size))
        expected = interpreter.evaluate(module, *arguments)
        assert compare(executable(*arguments), expected, ROUNDING) is None


def test_arguments_may_be_smaller_than_their_bounds():
    text = """p = (f32[<=5], s32[3]) parameter(0)
x = f32[<=5] get-tuple-element(p), index=0
y = f32[<=5] parameter(1)
z = f32[<=5] add(x, y)
ROOT r = (f32[<=5], f32[<=5]) tuple(z, y)"""
    executable = emit_c.compile(hlo.parse(entry(text)))
    ones = np.ones(3, np.float32)
    total, same = executable((ones, np.zeros(3, np.int32)), ones)
    assert total.tolist() == [2, 2, 2]
    assert same.tolist() == [1, 1, 1]


def test_a_size_that_is_the_bound_changes_nothing():
    text = entry("""x = f32[4] parameter(0)
n = s32[] constant(4)
ROOT r = f32[4] set-dimension-size(x, n), dimensions={0}""")
    assert type(emit_c.compile(hlo.parse(text))) is emit_c.Executable


@pytest.mark.parametrize(
    "line",
    [
        "ROOT r = f32[4,<=6] reverse(d), dimensions={1}",
        "ROOT r = f32[<=24] reshape(d)",
        "ROOT r = f32[4,<=12] concatenate(d, d), dimensions={1}",
        "ROOT r = f32[4,2] slice(d), slice={[0:4],[0:2]}",
    ],
)
def test_what_moves_elements_of_run_time_sizes_about_is_refused(line):
    with pytest.raises(hlo.HloError, match="r: ") as caught:
        emit_c.compile(hlo.parse(entry(SIZED + line)))
    assert caught.value.code == "HLO181"
    assert caught.value.span is not None
